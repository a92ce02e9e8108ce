// Calls a Node.js Lambda handler once: the event comes from standard input, the handler's name from _HANDLER.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const path = require('node:path');

const LOCAL = new Set(['127.0.0.1', '::1', 'localhost']);

// An endpoint that was overlooked must fail loudly, never reach AWS.
const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (...given) {
  const [options] = Array.isArray(given[0]) ? given[0] : given;
  const host = typeof options === 'object' ? options.host : given[1];
  if (typeof host === 'string' && !LOCAL.has(host)) {
    throw new Error(`the rehearsal talks to loopback only; refused: ${host}`);
  }
  return connect.apply(this, given);
};

// Handlers answer CloudFormation over https; the emulator's response address is plain http.
const requestSecurely = https.request;
https.request = (options, ...rest) => {
  if (!LOCAL.has(options.hostname)) return requestSecurely(options, ...rest);
  return http.request({ ...options, protocol: 'http:', port: process.env.SLIPWAY_RESPONSE_PORT }, ...rest);
};

async function main() {
  let text = '';
  for await (const part of process.stdin) text += part;
  const [file, name] = process.env._HANDLER.split('.');
  const handler = require(path.join(process.env.LAMBDA_TASK_ROOT, file))[name];
  const answer = await handler(JSON.parse(text), {
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    invokedFunctionArn: process.env.SLIPWAY_FUNCTION_ARN,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: 'rehearsal',
    awsRequestId: 'rehearsal',
    getRemainingTimeInMillis: () => 600000,
  });
  fs.writeFileSync(process.env.SLIPWAY_ANSWER, JSON.stringify(answer ?? null));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
