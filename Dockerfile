# One image for both programs: stockapi, which it runs, and loadtest, as --entrypoint /loadtest. The target try is for
# the images of other shops: docs/try.md.

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY . .
# Without cgo the binaries are static and need nothing of the image that they end up in.
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/ ./cmd/stockapi ./loadtest

FROM alpine:3.22 AS redis
RUN apk add --no-cache gcc make musl-dev linux-headers
# Redis 7.2.6, by its commit.
ADD https://github.com/redis/redis.git#ae6a2aa95cd094b032e7a69b8b59f64dd1ed085f /redis
# Static, so that it runs in any image.
RUN make -C /redis/src MALLOC=libc CFLAGS=-static LDFLAGS=-static redis-server

# What a trial needs. A shop's image copies all of it.
FROM scratch AS try
COPY --from=build /out/loadtest /usr/local/bin/
COPY --from=redis /redis/src/redis-server /usr/local/bin/

# No shell, no package manager, and a user that is not root (65532, also in the line below, so that an orchestrator can
# tell without looking into the image).
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/ /
USER 65532:65532
# The default, 127.0.0.1, cannot be reached from outside the container.
ENV STOCKAPI_ADDR=0.0.0.0:5000
EXPOSE 5000
ENTRYPOINT ["/stockapi"]
