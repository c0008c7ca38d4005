# One image for both programs: stockapi, which it runs, and loadtest, as --entrypoint /loadtest.

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY . .
# Without cgo the binaries are static and need nothing of the image that they end up in.
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/ ./cmd/stockapi ./loadtest

# No shell, no package manager, and a user that is not root (65532, also in the line below, so that an orchestrator can
# tell without looking into the image).
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/ /
USER 65532:65532
# The default, 127.0.0.1, cannot be reached from outside the container.
ENV STOCKAPI_ADDR=0.0.0.0:5000
EXPOSE 5000
ENTRYPOINT ["/stockapi"]
