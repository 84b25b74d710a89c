/** A sum over what happened lately, by the second, from which the past can be taken out. */
export interface RecentSum {
	/** `at`: milliseconds since 1970. What it returns takes the amount out again, unless it is out already. */
	add(at: number, amount: number): () => void;
	/** Takes out all that was added at or before `at`, and in its second. */
	forget(at: number): void;
	total(): number;
}

export function createRecentSum(): RecentSum {
	const seconds = new Map<number, { amount: number }>();
	let total = 0;
	return {
		add(at, amount) {
			const second = Math.floor(at / 1000);
			const sum = seconds.get(second) ?? { amount: 0 };
			seconds.set(second, sum);
			sum.amount += amount;
			total += amount;
			return () => {
				if (seconds.get(second) !== sum) return;
				sum.amount -= amount;
				total -= amount;
			};
		},
		forget(at) {
			for (const [second, { amount }] of seconds) {
				if (second * 1000 > at) continue;
				seconds.delete(second);
				total -= amount;
			}
		},
		total: () => total,
	};
}
