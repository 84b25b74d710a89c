import { httpContract } from "./http.ts";
import { startMemoryService } from "./memory-service.ts";

httpContract("in memory", () => startMemoryService());
