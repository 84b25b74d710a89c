/** What the templates say of the things that must not be otherwise. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, it } from "vitest";
import { allowedBy, entriesOf, replayCalls, uploadCalls } from "./allowed-calls.ts";
import { DuckdockStack } from "./duckdock-stack.ts";
import { terabyteCost } from "./terabyte-cost.ts";

let template: Template;
beforeAll(() => {
	const folder = mkdtempSync(join(tmpdir(), "duckdock-cdk-"));
	writeFileSync(join(folder, "index.mjs"), "");
	const app = new App({ outdir: `${folder}.out`, analyticsReporting: false });
	const stack = new DuckdockStack(app, "Duckdock", {
		target: "md:{tenant}",
		bundles: { upload: folder, replay: folder },
		environment: { DUCKDOCK_QUOTA_ROWS_PER_DAY: "1000000" },
	});
	template = Template.fromStack(stack);
});

interface Statement {
	Effect: string;
	Action: string | string[];
	Resource: unknown;
	Condition?: unknown;
}

/** Statements of the role of one function, each as text. */
function statementsOf(name: string): (Statement & { text: string })[] {
	const policies = Object.entries(template.findResources("AWS::IAM::Policy"));
	return policies
		.filter(([id]) => id.startsWith(`${name}ServiceRole`))
		.flatMap(([, policy]) => policy.Properties.PolicyDocument.Statement as Statement[])
		.map((one) => ({ ...one, text: JSON.stringify(one) }));
}

describe("the stack", () => {
	it("keeps objects versioned, encrypted, private and reached over TLS alone", () => {
		template.hasResourceProperties("AWS::S3::Bucket", {
			VersioningConfiguration: { Status: "Enabled" },
			BucketEncryption: Match.anyValue(),
			PublicAccessBlockConfiguration: {
				BlockPublicAcls: true,
				BlockPublicPolicy: true,
				IgnorePublicAcls: true,
				RestrictPublicBuckets: true,
			},
		});
		template.hasResourceProperties("AWS::S3::BucketPolicy", {
			PolicyDocument: Match.objectLike({
				Statement: Match.arrayWith([
					Match.objectLike({
						Effect: "Deny",
						Condition: { Bool: { "aws:SecureTransport": "false" } },
					}),
				]),
			}),
		});
	});

	it("removes staged bytes after 90 days, what was removed for good after one, and unfinished multipart uploads after 7", () => {
		template.hasResourceProperties("AWS::S3::Bucket", {
			LifecycleConfiguration: {
				Rules: Match.arrayWith([
					Match.objectLike({
						Prefix: "uploads/",
						ExpirationInDays: 90,
						NoncurrentVersionExpiration: { NoncurrentDays: 1 },
					}),
					Match.objectLike({ Prefix: "uploads/", ExpiredObjectDeleteMarker: true }),
					Match.objectLike({ AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } }),
				]),
			},
		});
	});

	it("announces manifests and files of drop/, and nothing else", () => {
		const [notification] = Object.values(template.findResources("Custom::S3BucketNotifications"));
		const { QueueConfigurations: all } = notification!.Properties.NotificationConfiguration;
		expect(
			all.map((one: { Filter: { Key: { FilterRules: { Value: string }[] } } }) =>
				one.Filter.Key.FilterRules.map(({ Value }) => Value).sort(),
			),
		).toEqual([["/manifest.json", "uploads/"], ["drop/"]]);
	});

	it("gives a message six times the function's time, five tries and dead letters for 14 days", () => {
		template.hasResourceProperties("AWS::SQS::Queue", {
			VisibilityTimeout: 6 * 900,
			RedrivePolicy: Match.objectLike({ maxReceiveCount: 5 }),
		});
		template.hasResourceProperties("AWS::SQS::Queue", { MessageRetentionPeriod: 14 * 86_400 });
		template.hasResourceProperties("AWS::Lambda::EventSourceMapping", {
			FunctionResponseTypes: ["ReportBatchItemFailures"],
			ScalingConfig: { MaximumConcurrency: 2 },
		});
	});

	it("lets each function do what it asks for, on what it asks for, and nothing else", () => {
		for (const [name, calls] of Object.entries({ Upload: uploadCalls, Replay: replayCalls })) {
			const granted = statementsOf(name).flatMap(({ Action, Resource, Condition }) => {
				expect([name, Action, Condition === undefined]).toEqual([
					name,
					Action,
					Action !== "s3:ListBucket",
				]);
				if (Action === "s3:ListBucket") {
					expect(JSON.stringify(Resource)).toMatch(/"Fn::GetAtt":\["Objects[0-9A-F]+","Arn"\]/);
					const { StringLikeIfExists: like } = Condition as Record<
						string,
						Record<string, string[]>
					>;
					return like!["s3:prefix"]!.map((prefix) => `${Action} ${prefix}`);
				}
				const resources = [Resource].flat();
				return [Action].flat().flatMap((action) =>
					resources.map((resource) => {
						const text = JSON.stringify(resource);
						if (action.startsWith("sqs:")) {
							expect(text).toMatch(/"Fn::GetAtt":\["Loads[0-9A-F]+","Arn"\]/);
							return action;
						}
						return `${action} ${/"\/([^"]+)"\]\]/.exec(text)?.[1]}`;
					}),
				);
			});
			// Lambda's own poller reads the queue with the role of the function.
			const poller =
				name === "Replay"
					? [
							"ChangeMessageVisibility",
							"DeleteMessage",
							"GetQueueAttributes",
							"GetQueueUrl",
							"ReceiveMessage",
						]
					: [];
			const wanted = [...entriesOf(calls), ...poller.map((action) => `sqs:${action}`)];
			expect([name, new Set(granted)]).toEqual([name, new Set(wanted)]);
		}
	});

	it("lets no function write a key or a file of drop/, and the loader not even read keys/", () => {
		for (const calls of [uploadCalls, replayCalls]) {
			for (const action of ["s3:PutObject", "s3:DeleteObject"]) {
				for (const key of ["keys/abc.json", "drop/acme/t/x", "drop/acme/drop.json", "other"]) {
					expect([action, key, allowedBy(calls, action, key)]).toEqual([action, key, null]);
				}
			}
		}
		expect(allowedBy(replayCalls, "s3:GetObject", "keys/abc.json")).toBeNull();
		expect(allowedBy(uploadCalls, "s3:PutObject", "keys/abc/last-used.json")).not.toBeNull();
	});

	it("gives drop writers their tenant's folder without its rule", () => {
		const [policy] = Object.values(template.findResources("AWS::IAM::ManagedPolicy"));
		const [allow, deny] = policy!.Properties.PolicyDocument.Statement as Statement[];
		expect(allow).toMatchObject({ Effect: "Allow", Action: "s3:PutObject" });
		// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of IAM
		expect(JSON.stringify(allow)).toContain("/drop/${aws:PrincipalTag/tenant}/*");
		expect(deny).toMatchObject({ Effect: "Deny" });
		expect(JSON.stringify(deny!.Resource)).toContain("/drop.json");
	});

	it("rings for dead letters, for an upload that waits an hour and for a loader that fails", () => {
		template.resourceCountIs("AWS::CloudWatch::Alarm", 3);
		template.hasResourceProperties("AWS::CloudWatch::Alarm", {
			MetricName: "ApproximateAgeOfOldestMessage",
			Threshold: 3_600,
		});
		template.resourceCountIs("AWS::CloudWatch::Dashboard", 1);
	});

	it("gives the loader a disk for copies of Parquet files", () => {
		template.hasResourceProperties("AWS::Lambda::Function", {
			MemorySize: 4_096,
			EphemeralStorage: { Size: 10_240 },
		});
	});

	it("costs what README says", () => {
		const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
		const [said] = /^What 1 TB costs there.*$/m.exec(readme)!;
		const { items, total, parts, days } = terabyteCost();
		const dollars = (value: number) => `$${value.toFixed(2)}`;
		expect(Math.round(parts / 10_000) * 10_000).toBe(120_000);
		expect(said).toContain("120,000 parts");
		expect(said).toContain(`${days} days of storage`);
		for (const item of Object.values(items)) expect(said).toContain(dollars(item));
		expect(said).toContain(`about $${total.toFixed(1)}0`);
	});

	it("keeps logs for a month, sweeps by schedule and has one public URL", () => {
		template.allResourcesProperties("AWS::Logs::LogGroup", { RetentionInDays: 30 });
		template.hasResourceProperties("AWS::Events::Rule", { ScheduleExpression: "rate(15 minutes)" });
		template.resourceCountIs("AWS::Lambda::Url", 1);
	});
});
