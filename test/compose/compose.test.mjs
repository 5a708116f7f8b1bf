import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseImages, canStandIn, firstImage } from './base-images.mjs';

test('the first image of a Dockerfile has the defaults of its arguments', () => {
  assert.equal(firstImage('ARG SERIES=4.2\n\nFROM broker:${SERIES}-full AS plain\nFROM plain'), 'broker:4.2-full');
  assert.equal(firstImage('# FROM nothing\nFROM node:22-slim AS build\n'), 'node:22-slim');
});

test('every image that is built on or run is known, and all but those of Grafana and Jaeger have a stand-in', () => {
  const repositories = baseImages().map((image) => image.split(':')[0]);
  assert.deepEqual(repositories, [
    ...['node', 'rabbitmq', 'postgres', 'prom/prometheus'],
    ...['grafana/grafana', 'jaegertracing/jaeger'],
  ]);
  assert.deepEqual(
    baseImages()
      .filter((image) => !canStandIn(image))
      .map((image) => image.split(':')[0]),
    ['grafana/grafana', 'jaegertracing/jaeger'],
  );
});
