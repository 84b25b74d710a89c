/** This process by a name that others on the same machine can look after. */
import { hostname } from "node:os";
import process from "node:process";

const host = hostname();

export const thisProcess = {
	name: `${host}/${process.pid}`,
	/** True only where it is sure: a process of this machine that isn't there any more. */
	isGone(name: string): boolean {
		const [itsHost, pid, more] = name.split("/");
		if (itsHost !== host || more !== undefined || !/^\d+$/.test(pid ?? "")) return false;
		if (Number(pid) === process.pid) return false;
		try {
			process.kill(Number(pid), 0);
			return false;
		} catch (error) {
			return (error as NodeJS.ErrnoException).code === "ESRCH";
		}
	},
};
