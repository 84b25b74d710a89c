import { httpContract } from "../contract/http.ts";
import { startWorkerService } from "./worker-service.ts";

httpContract("in workerd", () => startWorkerService());
