package sale

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"
)

// Metrics holds the metrics of one instance. Rungs are labelled by number, outcomes by the name of the problem.
type Metrics struct {
	Registry *prometheus.Registry

	Sales    *prometheus.CounterVec   // orders by rung and outcome
	Wait     *prometheus.HistogramVec // seconds from the order to the lock, or to the end of the wait, by rung
	Hold     *prometheus.HistogramVec // seconds from the lock to its release, by rung
	Held     *prometheus.GaugeVec     // leases held now, by rung
	Lost     *prometheus.CounterVec   // leases that ended before their release, by rung
	Renewals *prometheus.CounterVec   // renewals by result: ok, failed
	Commands prometheus.Counter       // Redis commands sent, and SQL statements about locks
	Woken    *prometheus.CounterVec   // waiters woken by a release, by the kind of notification: message, watch
}

// NewMetrics returns the metrics of the instance with that name.
func NewMetrics(instance string) *Metrics {
	registry := prometheus.NewRegistry()
	m := &Metrics{
		Registry: registry,
		Sales: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stockapi_sales_total",
			Help: "Orders by rung and outcome."}, []string{"rung", "outcome"}),
		Wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "stockapi_lock_wait_seconds",
			Help: "Time from the order to the lock, or to the end of the wait.", Buckets: buckets()}, []string{"rung"}),
		Hold: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "stockapi_lock_hold_seconds",
			Help: "Time from the lock to its release.", Buckets: buckets()}, []string{"rung"}),
		Held: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "stockapi_leases_held",
			Help: "Leases held now."}, []string{"rung"}),
		Lost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stockapi_leases_lost_total",
			Help: "Leases that ended before their release."}, []string{"rung"}),
		Renewals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stockapi_lease_renewals_total",
			Help: "Renewals of leases by result."}, []string{"result"}),
		Commands: prometheus.NewCounter(prometheus.CounterOpts{Name: "stockapi_redis_commands_total",
			Help: "Redis commands, and SQL statements about locks."}),
		Woken: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "stockapi_waiters_woken_total",
			Help: "Waiters that a release woke, by a Redis message or a ZooKeeper watch."}, []string{"by"}),
	}
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"instance_name": instance}, registry)
	labelled.MustRegister(m.Sales, m.Wait, m.Hold, m.Held, m.Lost, m.Renewals, m.Commands, m.Woken,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Connections adds a gauge for the open connections of a client.
func (m *Metrics) Connections(server string, client redis.UniversalClient) {
	gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "stockapi_redis_connections",
		Help: "Open connections to a Redis server.", ConstLabels: prometheus.Labels{"server": server}},
		func() float64 { return float64(client.PoolStats().TotalConns) })
	m.Registry.MustRegister(gauge)
}

// OnRenew counts a renewal.
func (m *Metrics) OnRenew(ok bool) {
	result := "ok"
	if !ok {
		result = "failed"
	}
	m.Renewals.WithLabelValues(result).Inc()
}

// buckets returns buckets from 0.25 ms, the fastest lock, to 32 s, the longest usual wait.
func buckets() []float64 { return prometheus.ExponentialBucketsRange(0.00025, 32, 18) }
