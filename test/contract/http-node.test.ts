import { httpContract } from "./http.ts";
import { startNodeService } from "./node-service.ts";

httpContract("on Node", () => startNodeService());
