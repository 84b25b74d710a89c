/** What Lambda's Node runtime does around a handler: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html */
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;
const json = (value) => ({ method: "POST", body: JSON.stringify(value) });
const problem = (error) => ({
	errorType: error?.name,
	errorMessage: String(error?.stack ?? error),
});

let handler;
try {
	({ handler } = await import(pathToFileURL(join(process.env.LAMBDA_TASK_ROOT, "index.mjs"))));
} catch (error) {
	await fetch(`${api}/init/error`, json(problem(error)));
	process.exit(1);
}
for (;;) {
	const next = await fetch(`${api}/invocation/next`);
	const id = next.headers.get("lambda-runtime-aws-request-id");
	const deadline = Number(next.headers.get("lambda-runtime-deadline-ms"));
	const context = {
		awsRequestId: id,
		functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
		getRemainingTimeInMillis: () => deadline - Date.now(),
	};
	try {
		const answer = await handler(await next.json(), context);
		await fetch(`${api}/invocation/${id}/response`, json(answer));
	} catch (error) {
		await fetch(`${api}/invocation/${id}/error`, json(problem(error)));
	}
}
