# One image for both programs: stockapi, which it runs, and loadtest, as --entrypoint /loadtest. The target try is for
# the images of other shops: docs/try.md.

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY . .
# Without cgo the binaries are static and need nothing of the image that they end up in.
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/ ./cmd/stockapi ./loadtest

# No shell, no package manager, and a user that is not root (65532, also in the line below, so that an orchestrator can
# tell without looking into the image).
FROM gcr.io/distroless/static-debian12:nonroot AS stockapi
COPY --from=build /out/ /
USER 65532:65532
# The default, 127.0.0.1, cannot be reached from outside the container.
ENV STOCKAPI_ADDR=0.0.0.0:5000
EXPOSE 5000
ENTRYPOINT ["/stockapi"]

FROM debian:bookworm AS redis
RUN sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources && \
    apt-get update && apt-get install --yes --no-install-recommends dpkg-dev gcc libc6-dev make
WORKDIR /src
RUN apt-get source --download-only redis && tar --extract --file redis_*.orig.tar.gz --strip-components 1
# Static, so that it runs in any image.
RUN make -C src MALLOC=libc LDFLAGS=-static redis-server

# What a trial needs. A shop's image copies all of it.
FROM scratch AS try
COPY --from=build /out/loadtest /usr/local/bin/
COPY --from=redis /src/src/redis-server /usr/local/bin/

# The last stage is the default.
FROM stockapi
