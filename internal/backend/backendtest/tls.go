package backendtest

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stockapi/internal/backend"
)

// StartTLS starts a redis-server, a Sentinel that watches it, and a Cluster of one node, all of which speak TLS alone.
// It returns their URLs. No authority has signed their certificate: a client has to skip its verification.
func StartTLS(t testing.TB) (single, sentinel, cluster string) {
	t.Helper()
	Require(t)
	settings := "port 0\nbind 127.0.0.1\nsave \"\"\n" + certificate(t)
	start := func(more string, args ...string) (url string) {
		port := FreePort(t)
		run(t, append([]string{redisConfig(t, fmt.Sprintf("%stls-port %d\n%s", settings, port, more))}, args...)...)
		url = strings.Replace(redisURL(port), "redis://", "rediss://", 1)
		client, err := backend.Open(url+"?skip_verify=true", backend.Options{Timeout: 2 * time.Second, PoolSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		eventually(t, "a server", func(ctx context.Context) bool {
			if strings.Contains(more, "cluster-enabled") { // refused when the slots are its own already
				_ = client.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err()
				return client.Do(ctx, "SET", "probe", 1).Err() == nil
			}
			return client.Ping(ctx).Err() == nil
		})
		return url
	}
	single = start("dir " + t.TempDir())
	cluster = start(fmt.Sprintf("dir %s\ncluster-enabled yes\ntls-cluster yes\ncluster-port %d", t.TempDir(), FreePort(t)))
	sentinel = start(fmt.Sprintf("tls-replication yes\nsentinel monitor shop %s 1\nsentinel auth-pass shop %s",
		strings.Replace(backend.Address(single), ":", " ", 1), password), "--sentinel")
	return single, sentinel + "?master_name=shop&password=" + password, cluster + "?cluster=true"
}

// certificate writes the certificate of httptest, which is for 127.0.0.1, and its key, and returns the settings of a
// Redis that shows it.
func certificate(t testing.TB) (settings string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	server.Close()
	own := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	path := filepath.Join(t.TempDir(), "tls.pem")
	if err = os.WriteFile(path, both, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("tls-cert-file %[1]s\ntls-key-file %[1]s\ntls-ca-cert-file %[1]s\ntls-auth-clients no\n", path)
}
