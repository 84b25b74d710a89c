/** The least that a Worker can do with a body: hand it to R2. What this costs is the platform's and its simulation's. */
export default {
	async fetch(
		request: Request,
		env: { OBJECTS: { put(key: string, body: ReadableStream | null): Promise<unknown> } },
	): Promise<Response> {
		await env.OBJECTS.put(new URL(request.url).pathname, request.body);
		return new Response(null, { status: 204 });
	},
};
