package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stockapi/internal/backend/backendtest"
)

// BenchmarkFootprint starts a real stockapi, sends it 100,000 orders, and reports the time from start to ready, the
// memory that is resident afterwards, and by how much goroutines and connections grew between the first tenth of the
// orders and the last. It fails when a figure that the project promises is not met.
//
//	go test -run '^$' -bench Footprint -benchtime 1x ./cmd/stockapi
func BenchmarkFootprint(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("reads /proc")
	}
	backendtest.Require(b)
	binary := filepath.Join(b.TempDir(), "stockapi")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		footprint(b, binary)
	}
}

func footprint(b *testing.B, binary string) {
	server := backendtest.StartRedis(b)
	began := time.Now()
	child := exec.Command(binary, "--addr", "127.0.0.1:0", "--redis", server.URL, "--log-format", "json",
		"--stock", "1000000", "--exit-with-stdin")
	stdin, err := child.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stderr, err := child.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = child.Wait()
	}()
	url := readyURL(b, stderr)
	ready := time.Since(began)

	const tenth = 10_000
	sell(b, url, tenth)
	early := gauges(b, url)
	sell(b, url, 9*tenth)
	late := gauges(b, url)
	resident := residentMB(b, child.Process.Pid)

	b.ReportMetric(float64(ready.Milliseconds()), "ready-ms")
	b.ReportMetric(resident, "resident-MB")
	b.ReportMetric(late["go_goroutines"]-early["go_goroutines"], "goroutines-grown")
	b.ReportMetric(late["stockapi_redis_connections"]-early["stockapi_redis_connections"], "connections-grown")
	b.ReportMetric(0, "ns/op")
	if ready > 100*time.Millisecond || resident > 40 || late["go_goroutines"] > early["go_goroutines"]+5 ||
		late["stockapi_redis_connections"] > early["stockapi_redis_connections"]+5 {
		b.Errorf("ready after %v, %.1f MB resident, before %v, after %v", ready, resident, early, late)
	}
}

func readyURL(b *testing.B, stderr io.Reader) string {
	scanner := bufio.NewScanner(stderr)
	for scanner.Scan() {
		var line struct{ Msg, URL string }
		if json.Unmarshal(scanner.Bytes(), &line) == nil && line.Msg == "ready" {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return line.URL
		}
	}
	b.Fatal("stockapi did not get ready")
	return ""
}

// sell sends n orders, over all rungs that one client alone can use in turn.
func sell(b *testing.B, url string, n int) {
	const workers = 16
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range n / workers {
				rung := []string{"v0", "v2", "v4", "v5"}[i%4]
				path := fmt.Sprintf("%s/%s/decrease?trace=true", url, rung)
				response, err := client.Post(path, "", http.NoBody)
				if err != nil {
					b.Errorf("worker %d: %v", w, err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
	all.Wait()
}

// gauges returns what /metrics says, labels left out.
func gauges(b *testing.B, url string) map[string]float64 {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	all := map[string]float64{}
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		if name, value, ok := strings.Cut(scanner.Text(), " "); ok {
			name, _, _ = strings.Cut(name, "{")
			all[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all
}

func residentMB(b *testing.B, pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 64)
			return n / 1024
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
