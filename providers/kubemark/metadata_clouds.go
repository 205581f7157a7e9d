package kubemark

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// awsTokenHeader carries the token of IMDSv2.
const awsTokenHeader = "X-Aws-Ec2-Metadata-Token"

// awsTokenOf is the token of an instance. It is derived from the ID, since it protects no secret.
func awsTokenOf(i cloud.Instance) string { return "token-" + i.ID }

func awsToken(w http.ResponseWriter, r *http.Request, i cloud.Instance) {
	ttl, err := strconv.Atoi(r.Header.Get(awsTokenHeader + "-Ttl-Seconds"))
	if err != nil || ttl < 1 || ttl > 21600 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set(awsTokenHeader+"-Ttl-Seconds", strconv.Itoa(ttl))
	_, _ = fmt.Fprint(w, awsTokenOf(i))
}

// aws answers requests with the token; items without a notice are not found.
func (m *metadata) aws(w http.ResponseWriter, r *http.Request, i cloud.Instance) {
	if r.Header.Get(awsTokenHeader) != awsTokenOf(i) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if item, ok := awsItem(r.PathValue("item"), i, i.AnnouncedAt(m.now())); ok {
		write(w, item)
		return
	}
	http.NotFound(w, r)
}

func awsItem(name string, i cloud.Instance, goes time.Time) (item any, ok bool) {
	const eventTime = "2 Jan 2006 15:04:05 GMT"
	switch name {
	case "instance-id":
		return i.ID, true
	case "spot/termination-time":
		return goes.UTC().Format(time.RFC3339), !goes.IsZero()
	case "spot/instance-action":
		return map[string]string{"action": "terminate", "time": goes.UTC().Format(time.RFC3339)}, !goes.IsZero()
	case "events/recommendations/rebalance":
		return map[string]string{"noticeTime": i.Announced.Rebalance.UTC().Format(time.RFC3339)}, !i.Announced.Rebalance.IsZero()
	case "events/maintenance/scheduled":
		at := i.Announced.Maintenance.UTC()
		if at.IsZero() {
			return []string{}, true
		}
		return []map[string]string{{
			"Code": "system-reboot", "Description": "scheduled reboot", "State": "active", "EventId": "instance-event-" + i.ID,
			"NotBefore": at.Format(eventTime), "NotAfter": at.Add(time.Hour).Format(eventTime),
		}}, true
	}
	return nil, false
}

// write writes a text as it is, and other values as JSON. It ignores errors: the client may have
// disconnected.
func write(w http.ResponseWriter, v any) {
	if text, ok := v.(string); ok {
		_, _ = fmt.Fprint(w, text)
		return
	}
	_ = json.NewEncoder(w).Encode(v)
}

// azureAsked reports whether a request has the header that Azure requires, and otherwise writes the error.
func azureAsked(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Metadata") == "true" && r.FormValue("api-version") != "" {
		return true
	}
	http.Error(w, `{"error": "Bad request. Required metadata header or api-version not specified"}`, http.StatusBadRequest)
	return false
}

func azureName(w http.ResponseWriter, r *http.Request, i cloud.Instance) {
	if azureAsked(w, r) {
		_, _ = fmt.Fprint(w, i.Node)
	}
}

// azureEvents lists Preempt and Reboot. A rebalance recommendation is not one of Azure's events.
func (m *metadata) azureEvents(w http.ResponseWriter, r *http.Request, i cloud.Instance) {
	if !azureAsked(w, r) {
		return
	}
	events := []map[string]any{}
	for _, e := range []struct {
		kind string
		at   time.Time
	}{{"Preempt", i.AnnouncedAt(m.now())}, {"Reboot", i.Announced.Maintenance}} {
		if e.at.IsZero() {
			continue
		}
		events = append(events, map[string]any{
			"EventId": e.kind + "-" + i.ID, "EventStatus": "Scheduled", "EventType": e.kind, "ResourceType": "VirtualMachine",
			"Resources": []string{i.Node}, "NotBefore": e.at.UTC().Format(http.TimeFormat), "Description": "", "EventSource": "Platform", "DurationInSeconds": -1,
		})
	}
	write(w, map[string]any{"DocumentIncarnation": 1, "Events": events})
}

// gcp writes a value, at once or after it changes.
func (m *metadata) gcp(w http.ResponseWriter, r *http.Request, i cloud.Instance) {
	const flavor, google = "Metadata-Flavor", "Google"
	w.Header().Set(flavor, google)
	if r.Header.Get(flavor) != google {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	value, known := m.gcpValue(r.PathValue("item"), i)
	if known && r.FormValue("wait_for_change") == "true" {
		value = m.gcpWait(r, i, value)
	}
	if !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("ETag", value)
	_, _ = fmt.Fprint(w, value)
}

func (m *metadata) gcpValue(item string, i cloud.Instance) (value string, known bool) {
	values := map[string][2]string{
		"preempted":         {"FALSE", "TRUE"},
		"maintenance-event": {"NONE", "TERMINATE_ON_HOST_MAINTENANCE"},
	}
	now := map[string]time.Time{"preempted": i.AnnouncedAt(m.now()), "maintenance-event": i.Announced.Maintenance}[item]
	pair, known := values[item]
	if now.IsZero() {
		return pair[0], known
	}
	return pair[1], known
}

// gcpWait returns the value after it differs from the value that the caller knows, or after the caller's
// timeout, or after the instance is deleted.
func (m *metadata) gcpWait(r *http.Request, i cloud.Instance, value string) string {
	const look = 100 * time.Millisecond
	old := cmp.Or(r.FormValue("last_etag"), value)
	seconds, err := strconv.Atoi(r.FormValue("timeout_sec"))
	for end := m.now().Add(time.Duration(seconds) * time.Second); value == old && (err != nil || m.now().Before(end)); {
		timer := m.provider.config.Clock.NewTimer(look)
		select {
		case <-r.Context().Done():
			timer.Stop()
			return value
		case <-timer.C():
		}
		now, ok, err := m.provider.cloud.Named(r.Context(), i.Cluster, i.Node)
		if err != nil || !ok {
			return value
		}
		value, _ = m.gcpValue(r.PathValue("item"), now)
	}
	return value
}
