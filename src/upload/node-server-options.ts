/**
 * How Node's HTTP server is set up in front of the app: an upload may take hours,
 * and so may the wait for its receipt; so no time-out of the socket is right. A
 * caller that sends nothing is given up by `guard-body.ts`.
 */

/** For `createServer`; https://nodejs.org/api/http.html#httpcreateserveroptions-requestlistener */
export const serverOptions = {
	/** Node ends every request after 5 minutes unless told otherwise: uploads take longer. */
	requestTimeout: 0,
	/** Slow headers hold a connection this long at most. */
	headersTimeout: 15_000,
	keepAliveTimeout: 65_000,
	connectionsCheckingInterval: 5_000,
	/** Of all headers together, in bytes; more is 431. */
	maxHeaderSize: 16 * 1024,
	/** Two lengths, obsolete line folding, bare line feeds: refused, never guessed at. */
	insecureHTTPParser: false,
	requireHostHeader: true,
	joinDuplicateHeaders: false,
	noDelay: true,
} as const;

/** `server.maxHeadersCount`: more are dropped by Node, so more are as good as none. */
export const maxHeadersCount = 100;

/**
 * For `AppDeps.isLoopbackPeer`, with @hono/node-server's bindings as `env`: the
 * peer's own address, never what a header says. A request that a proxy passed on
 * is none of this machine.
 */
export function isLoopbackPeer(request: Request, env: unknown): boolean {
	const headers = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
	if (headers.some((name) => request.headers.has(name))) return false;
	const address = (env as NodeBindings | undefined)?.incoming?.socket?.remoteAddress ?? "";
	const plain = address.replace(/^::ffff:/, "");
	return plain === "::1" || /^127\.\d+\.\d+\.\d+$/.test(plain);
}

/** For `AppDeps.rawHeaders`: names and values in turn, as they were sent. */
export function rawHeadersOf(env: unknown): readonly string[] {
	return (env as NodeBindings | undefined)?.incoming?.rawHeaders ?? [];
}

/**
 * For `AppDeps.inform`. RFC 9110, section 15.2: "A server MUST NOT send a 1xx
 * response to an HTTP/1.0 client".
 */
export function informNode(env: unknown, status: number, headers: Record<string, string>): void {
	const { incoming, outgoing } = (env as NodeBindings | undefined) ?? {};
	if (incoming?.httpVersion !== "1.1" || outgoing?.headersSent !== false) return;
	outgoing.writeInformation?.(status, headers);
}

interface NodeBindings {
	incoming?: {
		rawHeaders?: string[];
		httpVersion?: string;
		socket?: { remoteAddress?: string };
	};
	outgoing?: {
		headersSent: boolean;
		/** https://nodejs.org/api/http.html#responsewriteinformation, not in every Node */
		writeInformation?(status: number, headers: Record<string, string>): void;
	};
}
