/** What a container's Worker does with a request: passes it on to the loader. Here the loader is a process of this machine. */
export default {
	fetch(request: Request, env: { LOADER_URL: string }): Promise<Response> {
		const { pathname } = new URL(request.url);
		return fetch(new Request(env.LOADER_URL + pathname, request));
	},
};
