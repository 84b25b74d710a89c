/** https://developers.cloudflare.com/workers/runtime-apis/bindings/#importing-env-as-a-global */
declare module "cloudflare:workers" {
	export const env: Readonly<Record<string, unknown>>;
}
