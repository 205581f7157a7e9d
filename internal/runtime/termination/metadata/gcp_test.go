package metadata

import (
	"net/http"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// gcpDouble is a metadata server: it marks its answers and refuses questions
// without the header.
func gcpDouble(t *testing.T, pages map[string]page) *double {
	t.Helper()
	for path, body := range map[string]string{gcpPreempted: "FALSE", gcpMaintenance: "NONE"} {
		if _, ok := pages["GET "+path]; !ok {
			pages["GET "+path] = page{body: body, header: map[string]string{"ETag": "e1"}}
		}
	}
	d := newDouble(t, pages)
	d.dress = map[string]string{gcpFlavor: gcpGoogle, "Server": "Metadata Server for VM"}
	d.guard = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get(gcpFlavor) != gcpGoogle {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	return d
}

func TestGCP(t *testing.T) {
	preempt := interruption.Notice{Kind: interruption.Termination, Action: "preempt", Grace: 30 * time.Second}
	dark := clear(interruption.Rebalance, interruption.Maintenance)
	migrate := interruption.Notice{Kind: interruption.Maintenance, Action: "MIGRATE_ON_HOST_MAINTENANCE"}
	stop := interruption.Notice{Kind: interruption.Maintenance, Action: "TERMINATE_ON_HOST_MAINTENANCE"}
	healthy := clear(interruption.Termination, interruption.Rebalance)
	cases := []struct {
		reason string
		pages  map[string]page
		want   interruption.Report
		fails  string
	}{
		{reason: "10: negative: FALSE", pages: map[string]page{}, want: interruption.Report{Clear: all}},
		{reason: "10: positive: TRUE", pages: map[string]page{"GET " + gcpPreempted: {body: "TRUE"}}, want: interruption.Report{Notices: []interruption.Notice{preempt}, Clear: clear(interruption.Rebalance)}},
		{reason: "a line end does no harm", pages: map[string]page{"GET " + gcpPreempted: {body: "TRUE\n"}}, want: interruption.Report{Notices: []interruption.Notice{preempt}, Clear: clear(interruption.Rebalance)}},
		{reason: "10: another body is no notice; nor does it take one back", pages: map[string]page{"GET " + gcpPreempted: {body: "maybe"}}, want: interruption.Report{Clear: dark}, fails: "not TRUE or FALSE"},
		{reason: "an empty body", pages: map[string]page{"GET " + gcpPreempted: {}}, want: interruption.Report{Clear: dark}, fails: "not TRUE or FALSE"},
		{reason: "the server is away", pages: map[string]page{"GET " + gcpPreempted: {status: 503}}, want: interruption.Report{Clear: dark}, fails: "answered 503"},
		{reason: "no such item", pages: map[string]page{"GET " + gcpPreempted: {status: 404}}, want: interruption.Report{Clear: dark}, fails: "answered 404"},
		{reason: "half a body", pages: map[string]page{"GET " + gcpPreempted: {body: "TRUE", cut: true}}, want: interruption.Report{Clear: dark}, fails: "unexpected EOF"},
		{reason: "the instance is moved", pages: map[string]page{"GET " + gcpMaintenance: {body: "MIGRATE_ON_HOST_MAINTENANCE"}}, want: interruption.Report{Notices: []interruption.Notice{migrate}, Clear: healthy}},
		{reason: "the instance is stopped for maintenance", pages: map[string]page{"GET " + gcpMaintenance: {body: "TERMINATE_ON_HOST_MAINTENANCE"}}, want: interruption.Report{Notices: []interruption.Notice{stop}, Clear: healthy}},
		{reason: "a machine type without maintenance", pages: map[string]page{"GET " + gcpMaintenance: {status: 404}}, want: interruption.Report{Clear: all}},
		{reason: "maintenance: the server is away", pages: map[string]page{"GET " + gcpMaintenance: {status: 503}}, want: interruption.Report{Clear: healthy}, fails: "ask for maintenance"},
		{reason: "maintenance: garbage", pages: map[string]page{"GET " + gcpMaintenance: {body: "<html>"}}, want: interruption.Report{Clear: healthy}, fails: "not an event"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			look(t, c.reason, NewGCP(NewHTTP(), gcpDouble(t, c.pages).URL), c.want, c.fails)
		})
	}
}

// TRUE from another server than the metadata server means nothing.
func TestGCPAnswersAreMarked(t *testing.T) {
	d := gcpDouble(t, map[string]page{"GET " + gcpPreempted: {body: "TRUE"}, "GET " + gcpMaintenance: {status: 404}})
	d.dress = nil
	look(t, "unmarked", NewGCP(NewHTTP(), d.URL), interruption.Report{Clear: clear(interruption.Rebalance)}, "does not come from the metadata server")
}

func TestGCPWaitsForChange(t *testing.T) {
	const waiting = "GET " + gcpPreempted + "?last_etag=e1&timeout_sec=5&wait_for_change=true"
	d := gcpDouble(t, map[string]page{waiting: {body: "TRUE", header: map[string]string{"ETag": "e2"}}})
	g := NewGCP(NewHTTP(), d.URL)
	first, err := g.Look(t.Context(), 5*time.Second)
	if err != nil || !first.Clear[interruption.Termination] {
		t.Fatalf("the first look does not wait: %v, %v", first, err)
	}
	second, err := g.Look(t.Context(), 5*time.Second)
	if err != nil || !second.Has(interruption.Termination) || d.times(waiting) != 1 {
		t.Errorf("the second look waits for what differs from the first: %v, %v", second, err)
	}
	if third, err := g.Look(t.Context(), 0); err != nil || third.Has(interruption.Termination) {
		t.Errorf("a look that may not wait asks at once: %v, %v", third, err)
	}
}

// After an error the last state is unknown: the next read does not wait for a change of it.
func TestGCPDoesNotWaitAfterAnError(t *testing.T) {
	const waiting = "GET " + gcpPreempted + "?last_etag=e1&timeout_sec=5&wait_for_change=true"
	d := gcpDouble(t, map[string]page{waiting: {status: http.StatusServiceUnavailable}})
	g := NewGCP(NewHTTP(), d.URL)
	for range 3 {
		_, _ = g.Look(t.Context(), 5*time.Second)
	}
	if plain, hung := d.times("GET "+gcpPreempted), d.times(waiting); plain != 2 || hung != 1 {
		t.Errorf("%d plain and %d waiting questions, want 2 and 1", plain, hung)
	}
}
