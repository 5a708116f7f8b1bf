FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/operator-page/package.json ./packages/operator-page/
RUN npm ci
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY docs/openapi.json docs/asyncapi.json ./docs/
COPY packages/operator-page ./packages/operator-page
# A host brings the peers. The image is the host here, so it has all of them, with the SDKs of the payment providers and the
# page at /docs, as it cannot know which are configured. Their versions are those of the tests.
RUN npx nest build \
  && npm run --silent build --workspace packages/operator-page \
  && PEERS=$(node -p "const {peerDependencies: p, devDependencies: d} = require('./package.json'); Object.keys(p).map((name) => name + '@' + d[name]).join(' ')") \
  && npm install --save-prod --omit=dev --ignore-scripts $PEERS

FROM node:22-bookworm-slim
ENV NODE_ENV=production
# Some 50 MB of it are in use. Left alone, V8 sizes its garbage by the machine: the process took 264 MiB at its peak, and takes 160.
ENV NODE_OPTIONS=--max-old-space-size=512
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/docs ./docs
USER node
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=12 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 3000) + '/health/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--enable-source-maps", "dist/main.js"]
