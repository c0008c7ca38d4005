package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// commandsMetric counts the Redis commands that an instance has sent, over all its labels.
const commandsMetric = "stockapi_redis_commands_total"

// Commands returns how many Redis commands the instance has sent so far.
func (c *Client) Commands(ctx context.Context, base string) (int64, error) {
	status, body, err := c.ask(ctx, http.MethodGet, base+"/metrics", "")
	if err != nil {
		return 0, err
	}
	if status != http.StatusOK {
		return 0, fmt.Errorf("GET %s/metrics answered %d", base, status)
	}
	sum, found := sumMetric(body, commandsMetric)
	if !found {
		return 0, fmt.Errorf("%s/metrics has no %s", base, commandsMetric)
	}
	return int64(sum), nil
}

// sumMetric adds up all series of one counter in Prometheus' text format, "name{labels} value". A full parser would add
// more packages than this format has rules.
func sumMetric(text []byte, name string) (sum float64, found bool) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		fields := strings.Fields(rest[strings.LastIndexByte(rest, '}')+1:])
		if len(fields) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
			sum, found = sum+v, true
		}
	}
	return sum, found
}
