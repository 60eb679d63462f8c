package hist

import (
	"encoding/json"
	"math"
	"math/big"
	"time"

	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// jsonWindow is a window in JSON.
type jsonWindow struct {
	Time       string    `json:"time"`
	Histograms []jsonRow `json:"histograms"`
	StacksLeft int       `json:"stacks_left_out,omitempty"`
}

type jsonRow struct {
	Name    string       `json:"name"`
	Unit    string       `json:"unit,omitempty"` // if times are measured
	Stack   []string     `json:"stack,omitempty"`
	Cut     bool         `json:"truncated,omitempty"`
	Count   uint64       `json:"count"`
	Total   *big.Int     `json:"total"`
	Buckets []jsonBucket `json:"buckets"`
}

// jsonBucket counts values of at least Min and less than Max. null means no bound.
type jsonBucket struct {
	Min   *int64 `json:"min"`
	Max   *int64 `json:"max"`
	Count uint64 `json:"count"`
}

func (p *printer) printJSON(w *window) error {
	window := jsonWindow{Time: w.end.Format(time.RFC3339Nano), Histograms: []jsonRow{}, StacksLeft: w.rest}
	for i := range w.rows {
		row := &w.rows[i]
		j := jsonRow{
			Name: p.subject.functions[row.function], Stack: row.stack, Cut: row.cut,
			Count: row.histogram.Count(), Total: row.histogram.Total(), Buckets: jsonBuckets(row.histogram),
		}
		if p.subject.field == "" {
			j.Unit = p.Unit
		}
		window.Histograms = append(window.Histograms, j)
	}
	return json.NewEncoder(p.Out).Encode(window)
}

func jsonBuckets(h *histogram.Histogram) []jsonBucket {
	buckets := []jsonBucket{}
	for _, b := range h.Buckets() {
		j := jsonBucket{Count: b.Count}
		if b.Low != math.MinInt64 {
			j.Min = &b.Low
		}
		if b.High != math.MaxInt64 {
			j.Max = &b.High
		}
		buckets = append(buckets, j)
	}
	return buckets
}
