/**
 * duckdock on AWS: one bucket, one queue with its dead letters, two functions.
 *
 *   upload function (URL) ──presigned parts──▶ bucket ──events──▶ queue ──▶ replay function ──▶ target
 *                                               drop/ ─────────▲       └─▶ dead letters, with alarms
 *   schedule ──▶ replay function: what was lost is sent again, what is over is removed
 *
 * The target is elsewhere (MotherDuck, or a DuckLake): a function's disk does not last.
 * Nobody but the operator writes keys and `drop.json`; what each function may do is in
 * `allowed-calls.ts`.
 */
import { CfnOutput, Duration, RemovalPolicy, Size, Stack, type StackProps } from "aws-cdk-lib";
import * as cloudwatch from "aws-cdk-lib/aws-cloudwatch";
import * as events from "aws-cdk-lib/aws-events";
import * as targets from "aws-cdk-lib/aws-events-targets";
import * as iam from "aws-cdk-lib/aws-iam";
import * as lambda from "aws-cdk-lib/aws-lambda";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import * as logs from "aws-cdk-lib/aws-logs";
import * as s3 from "aws-cdk-lib/aws-s3";
import { SqsDestination } from "aws-cdk-lib/aws-s3-notifications";
import * as sqs from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { type AllowedCalls, replayCalls, uploadCalls } from "./allowed-calls.ts";
import { loaderDiskGib, loaderMemoryMb, noncurrentDays } from "./sizes.ts";

export interface DuckdockProps extends StackProps {
	/** `md:{tenant}` or `ducklake:…`. */
	target: string;
	/** Folders that `infra/bundle.ts` made. */
	bundles: { upload: string; replay: string };
	/** Loads that run at once; a target of one writer takes 2, the least there is. */
	maxLoaders?: number;
	/** Further environment of both functions: limits of tenants (`DUCKDOCK_QUOTA_…`) and of uploads. */
	environment?: Record<string, string>;
	/** Further environment of the loader: tokens by the names that DuckDB reads. */
	loaderEnvironment?: Record<string, string>;
}

/** The longest that a function may run. */
const loaderTime = Duration.minutes(15);
/** https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html: six times the function's time. */
const visibility = Duration.minutes(90);
const maxReceives = 5;
const architecture = lambda.Architecture.X86_64;

export class DuckdockStack extends Stack {
	readonly bucket: s3.Bucket;
	readonly queue: sqs.Queue;

	constructor(scope: Construct, id: string, props: DuckdockProps) {
		super(scope, id, props);
		this.bucket = createBucket(this);
		const deadLetters = new sqs.Queue(this, "DeadLetters", {
			retentionPeriod: Duration.days(14),
			encryption: sqs.QueueEncryption.SQS_MANAGED,
			enforceSSL: true,
		});
		this.queue = new sqs.Queue(this, "Loads", {
			visibilityTimeout: visibility,
			retentionPeriod: Duration.days(14),
			encryption: sqs.QueueEncryption.SQS_MANAGED,
			enforceSSL: true,
			deadLetterQueue: { queue: deadLetters, maxReceiveCount: maxReceives },
		});
		const destination = new SqsDestination(this.queue);
		const created = s3.EventType.OBJECT_CREATED;
		this.bucket.addEventNotification(created, destination, {
			prefix: "uploads/",
			suffix: "/manifest.json",
		});
		this.bucket.addEventNotification(created, destination, { prefix: "drop/" });

		const environment = {
			DUCKDOCK_STORE: `s3://${this.bucket.bucketName}`,
			DUCKDOCK_TARGET: props.target,
			DUCKDOCK_SQS_QUEUE_URL: this.queue.queueUrl,
			UV_THREADPOOL_SIZE: "8",
			...props.environment,
		};
		const upload = this.addFunction("Upload", {
			code: lambda.Code.fromAsset(props.bundles.upload),
			memorySize: 1_024,
			timeout: Duration.seconds(60),
			environment,
		});
		const replay = this.addFunction("Replay", {
			code: lambda.Code.fromAsset(props.bundles.replay),
			memorySize: loaderMemoryMb,
			ephemeralStorageSize: Size.gibibytes(loaderDiskGib),
			timeout: loaderTime,
			environment: { ...environment, HOME: "/tmp", ...props.loaderEnvironment },
		});
		replay.addEventSource(
			new SqsEventSource(this.queue, {
				batchSize: 10,
				reportBatchItemFailures: true,
				maxConcurrency: props.maxLoaders ?? 2,
			}),
		);
		new events.Rule(this, "Sweep", {
			schedule: events.Schedule.rate(Duration.minutes(15)),
			targets: [new targets.LambdaFunction(replay)],
		});
		this.allow(upload, uploadCalls);
		this.allow(replay, replayCalls);
		this.addDropWriters();

		// Who calls is known by duckdock's own keys, not by AWS's.
		const url = upload.addFunctionUrl({ authType: lambda.FunctionUrlAuthType.NONE });
		this.watch(deadLetters, upload, replay);
		new CfnOutput(this, "Url", { value: url.url });
		new CfnOutput(this, "BucketName", { value: this.bucket.bucketName });
	}

	private addFunction(
		id: string,
		props: Pick<
			lambda.FunctionProps,
			"code" | "memorySize" | "ephemeralStorageSize" | "timeout" | "environment"
		>,
	): lambda.Function {
		return new lambda.Function(this, id, {
			...props,
			runtime: lambda.Runtime.NODEJS_24_X,
			architecture,
			handler: "index.handler",
			logGroup: new logs.LogGroup(this, `${id}Log`, {
				retention: logs.RetentionDays.ONE_MONTH,
				removalPolicy: RemovalPolicy.DESTROY,
			}),
		});
	}

	private allow(to: iam.IGrantable, calls: AllowedCalls): void {
		const grant = (statement: iam.PolicyStatementProps) =>
			to.grantPrincipal.addToPrincipalPolicy(new iam.PolicyStatement(statement));
		for (const [action, keys] of Object.entries(calls.objects)) {
			grant({ actions: [action], resources: keys.map((key) => this.bucket.arnForObjects(key)) });
		}
		grant({
			actions: ["s3:ListBucket"],
			resources: [this.bucket.bucketArn],
			// A read of one object says no prefix, and is to be answered 404 where it isn't there.
			conditions: { StringLikeIfExists: { "s3:prefix": calls.list } },
		});
		grant({ actions: [...calls.queue], resources: [this.queue.queueArn] });
	}

	/** A policy for who puts files: a tenant's own folder, by the tag `tenant` of the role, and never its rule. */
	private addDropWriters(): void {
		const folder = this.bucket.arnForObjects(`drop/\${aws:PrincipalTag/tenant}`);
		new iam.ManagedPolicy(this, "DropWriters", {
			description: "Puts files under drop/{tenant}/, tenant being the tag of the role or user.",
			statements: [
				new iam.PolicyStatement({ actions: ["s3:PutObject"], resources: [`${folder}/*`] }),
				new iam.PolicyStatement({
					effect: iam.Effect.DENY,
					actions: ["s3:PutObject", "s3:DeleteObject"],
					resources: [`${folder}/drop.json`],
				}),
			],
		});
	}

	private watch(deadLetters: sqs.Queue, upload: lambda.Function, replay: lambda.Function): void {
		const dead = deadLetters.metricApproximateNumberOfMessagesVisible({
			period: Duration.minutes(5),
			statistic: "Maximum",
		});
		const oldest = this.queue.metricApproximateAgeOfOldestMessage({
			period: Duration.minutes(5),
			statistic: "Maximum",
		});
		const alarm = (id: string, metric: cloudwatch.Metric, threshold: number, what: string) =>
			new cloudwatch.Alarm(this, id, {
				metric,
				threshold,
				evaluationPeriods: 1,
				comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
				treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
				alarmDescription: what,
			});
		alarm("DeadLettersAlarm", dead, 1, "A message could not be dealt with: see the dead letters.");
		alarm("OldestUploadAlarm", oldest, 3_600, "An upload has waited for an hour to be loaded.");
		alarm(
			"LoaderErrorsAlarm",
			replay.metricErrors({ period: Duration.minutes(5), statistic: "Sum" }),
			1,
			"The loader's process failed or ran out of time.",
		);
		const graph = (title: string, ...left: cloudwatch.IMetric[]) =>
			new cloudwatch.GraphWidget({ title, left, width: 12 });
		new cloudwatch.Dashboard(this, "Dashboard", {
			widgets: [
				[
					graph("Uploads", upload.metricInvocations(), upload.metricErrors()),
					graph("Loads", replay.metricInvocations(), replay.metricErrors()),
				],
				[
					graph("Waiting and dead", this.queue.metricApproximateNumberOfMessagesVisible(), dead),
					graph("Age of the oldest upload (s)", oldest),
				],
				[graph("Time", upload.metricDuration(), replay.metricDuration())],
			],
		});
	}
}

function createBucket(scope: Construct): s3.Bucket {
	// A last net: duckdock's own sweep removes what is over, much sooner.
	return new s3.Bucket(scope, "Objects", {
		versioned: true,
		encryption: s3.BucketEncryption.S3_MANAGED,
		enforceSSL: true,
		minimumTLSVersion: 1.2,
		blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
		objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
		removalPolicy: RemovalPolicy.RETAIN,
		lifecycleRules: [
			{
				id: "staged",
				prefix: "uploads/",
				expiration: Duration.days(90),
				noncurrentVersionExpiration: Duration.days(noncurrentDays),
			},
			// Else each removal stays in every listing for 90 days.
			{ id: "removed", prefix: "uploads/", expiredObjectDeleteMarker: true },
			{ id: "unfinished", abortIncompleteMultipartUploadAfter: Duration.days(7) },
			{ id: "overwritten", noncurrentVersionExpiration: Duration.days(30) },
		],
	});
}
