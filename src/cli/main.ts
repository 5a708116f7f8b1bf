#!/usr/bin/env node
import 'reflect-metadata';
import { processTerminal } from './cli';
import { runCli } from './run-cli';

void runCli(process.argv.slice(2), process.env, processTerminal).then((code) => (process.exitCode = code));
