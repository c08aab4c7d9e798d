// What reads the application's output has its socket as standard input.
const { spawn } = require("child_process");
const [program, ...args] = "node app.js".split(" ");
const app = spawn(program, args, { stdio: ["inherit", "pipe", "inherit"] });
spawn("sort", ["-o", "out"], { stdio: [app.stdout, "inherit", "inherit"] });
process.once("SIGTERM", () => { app.kill("SIGTERM"); process.exit(); });
