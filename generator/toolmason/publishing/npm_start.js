#!/usr/bin/env node
// Starts a server that is a package of PyPI, with `uvx`, on the streams of this process.
"use strict";

const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { homedir } = require("node:os");
const { delimiter, isAbsolute, join } = require("node:path");
const { isatty } = require("node:tty");

const PACKAGE = require("../package.json");
const INSTALL = "https://docs.astral.sh/uv/getting-started/installation/";
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Programs to try: `uvx` on PATH, then in the directories of its installers, which desktop apps do not have on PATH.
 * Windows would look in the current directory first, which may be a clone of others.
 */
function programs() {
  const name = process.platform === "win32" ? "uvx.exe" : "uvx";
  const directories = [
    ...(process.env.PATH || "").split(delimiter),
    process.env.UV_INSTALL_DIR,
    process.env.XDG_BIN_HOME,
    join(homedir(), ".local", "bin"),
    join(homedir(), ".cargo", "bin"),
    "/opt/homebrew/bin",
    "/usr/local/bin",
  ];
  const absolute = directories.filter((directory) => directory && isAbsolute(directory));
  return absolute.map((directory) => join(directory, name)).filter((path) => existsSync(path));
}

function start([program, ...others]) {
  if (!program) {
    console.error(`${PACKAGE.name}: uvx, which starts this server, is not installed. Install uv: ${INSTALL}`);
    process.exitCode = 127;
    return;
  }
  const child = spawn(program, [...PACKAGE.uvx, ...process.argv.slice(2)], { stdio: "inherit" });
  const forward = (signal) => {
    // A terminal sends its interrupt to both processes.
    if (!(signal === "SIGINT" && isatty(0))) child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  const stop = () => SIGNALS.forEach((signal) => process.removeListener(signal, forward));

  child.on("error", (error) => {
    stop();
    if (["ENOENT", "EACCES"].includes(error.code) && others.length > 0) {
      start(others);
    } else {
      console.error(`${PACKAGE.name}: ${program} cannot be started: ${error.message}`);
      process.exitCode = 126;
    }
  });
  child.on("exit", (code, signal) => {
    stop();
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code;
  });
}

start(programs());
