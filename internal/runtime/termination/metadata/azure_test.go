package metadata

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

const (
	azureNew = "GET /metadata/scheduledevents?api-version=2024-07-09"
	azureOld = "GET /metadata/scheduledevents?api-version=2020-07-01"
)

// azureDouble is the service of the virtual machine "pool_3"; it refuses what
// lacks the header, as the real one does.
func azureDouble(t *testing.T, pages map[string]page) *double {
	t.Helper()
	if _, ok := pages["GET "+azureName]; !ok {
		pages["GET "+azureName] = page{body: "pool_3"}
	}
	d := newDouble(t, pages)
	d.guard = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Metadata") != "true" {
			page{status: http.StatusBadRequest, body: `{ "error": "Bad request. Required metadata header not specified" }`}.serve(w, r)
			return true
		}
		return false
	}
	return d
}

// azureBody is the document with one event.
func azureBody(kind, resources string) string {
	return `{"DocumentIncarnation": 2, "Events": [{"EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123", "EventStatus": "Scheduled", "EventType": "` + kind +
		`", "ResourceType": "VirtualMachine", "Resources": [` + resources + `], "NotBefore": "Sat, 21 Nov 2026 12:00:00 GMT", "Description": "why", "EventSource": "Platform", "DurationInSeconds": 5}]}`
}

func TestAzure(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	event := func(k interruption.Kind, action string) interruption.Report {
		r := interruption.Report{Notices: []interruption.Notice{{Kind: k, Action: action, At: noon, Detail: "why"}}, Clear: map[interruption.Kind]bool{}}
		for _, other := range interruption.Kinds {
			r.Clear[other] = other != k
		}
		return r
	}
	begun := event(interruption.Termination, "Preempt")
	begun.Notices[0].At = time.Time{}
	const mine = `"pool_3"`
	cases := []struct {
		reason string
		pages  map[string]page
		want   interruption.Report
		fails  string
	}{
		{reason: "10: negative: none", pages: map[string]page{azureNew: {body: `{"DocumentIncarnation": 1, "Events": []}`}}, want: interruption.Report{Clear: all}},
		{reason: "10: positive: Preempt", pages: map[string]page{azureNew: {body: azureBody("Preempt", mine)}}, want: event(interruption.Termination, "Preempt")},
		{reason: "10: positive: SpotRebalanceRecommendation", pages: map[string]page{azureNew: {body: azureBody("SpotRebalanceRecommendation", mine)}}, want: event(interruption.Termination, "SpotRebalanceRecommendation")},
		{reason: "the virtual machine is being deleted", pages: map[string]page{azureNew: {body: azureBody("Terminate", mine)}}, want: event(interruption.Termination, "Terminate")},
		{reason: "maintenance: Reboot", pages: map[string]page{azureNew: {body: azureBody("Reboot", mine)}}, want: event(interruption.Maintenance, "Reboot")},
		{reason: "maintenance: Redeploy", pages: map[string]page{azureNew: {body: azureBody("Redeploy", mine)}}, want: event(interruption.Maintenance, "Redeploy")},
		{reason: "maintenance: Freeze", pages: map[string]page{azureNew: {body: azureBody("Freeze", mine)}}, want: event(interruption.Maintenance, "Freeze")},
		{reason: "a type that there will be one day", pages: map[string]page{azureNew: {body: azureBody("Teleport", mine)}}, want: event(interruption.Maintenance, "Teleport")},
		{reason: "the event of a neighbour in the same scale set", pages: map[string]page{azureNew: {body: azureBody("Preempt", `"pool_1", "pool_33"`)}}, want: interruption.Report{Clear: all}},
		{reason: "an event of several, in another case", pages: map[string]page{azureNew: {body: azureBody("Preempt", `"pool_1", "POOL_3"`)}}, want: event(interruption.Termination, "Preempt")},
		{reason: "an event that has begun has no time any more", pages: map[string]page{azureNew: {body: strings.Replace(azureBody("Preempt", mine), "Sat, 21 Nov 2026 12:00:00 GMT", "", 1)}}, want: begun},
		{reason: "10: 404: the older version", pages: map[string]page{azureOld: {body: azureBody("Preempt", mine)}}, want: event(interruption.Termination, "Preempt")},
		{reason: "a version that is refused", pages: map[string]page{azureNew: {status: 400, body: `{"error": "Bad request. api-version is invalid"}`}, azureOld: {body: azureBody("Preempt", mine)}}, want: event(interruption.Termination, "Preempt")},
		{reason: "no version is served", pages: map[string]page{}, fails: "answered 404"},
		{reason: "the service is away", pages: map[string]page{azureNew: {status: 500}}, fails: "answered 500"},
		{reason: "throttled", pages: map[string]page{azureNew: {status: 429}}, fails: "answered 429"},
		{reason: "garbage", pages: map[string]page{azureNew: {body: `<html>`}}, fails: "not a document with Events"},
		{reason: "a document without events is in parts", pages: map[string]page{azureNew: {body: `{"DocumentIncarnation": 1}`}}, fails: "not a document with Events"},
		{reason: "half a document", pages: map[string]page{azureNew: {body: azureBody("Preempt", mine)[:120]}}, fails: "not a document with Events"},
		{reason: "half a body", pages: map[string]page{azureNew: {body: azureBody("Preempt", mine), cut: true}}, fails: "unexpected EOF"},
		{reason: "an event about nobody", pages: map[string]page{azureNew: {body: azureBody("Preempt", "")}}, fails: "name a type and resources"},
		{reason: "an event about nothing", pages: map[string]page{azureNew: {body: azureBody("", mine)}}, fails: "name a type and resources"},
		{reason: "the name is not known: whose events these are neither", pages: map[string]page{"GET " + azureName: {status: 500}, azureNew: {body: `{"Events": []}`}}, fails: "learn the name"},
		{reason: "a name that is none", pages: map[string]page{"GET " + azureName: {body: "<html>"}, azureNew: {body: `{"Events": []}`}}, fails: "not a name"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			look(t, c.reason, NewAzure(NewHTTP(), azureDouble(t, c.pages).URL), c.want, c.fails)
		})
	}
}

func TestAzureVersionIsChosenOnce(t *testing.T) {
	d := azureDouble(t, map[string]page{azureOld: {body: `{"Events": []}`}})
	z := NewAzure(NewHTTP(), d.URL)
	none := interruption.Report{Clear: all}
	look(t, "the first look tries both", z, none, "")
	look(t, "the second knows", z, none, "")
	if got := d.times(azureNew); got != 1 {
		t.Errorf("the version that is not served was asked for %d times", got)
	}
	if got := d.times("GET " + azureName); got != 1 {
		t.Errorf("the name was asked for %d times", got)
	}
	d.set(azureOld, page{status: 404})
	look(t, "it is not served any more", z, interruption.Report{}, "answered 404")
	d.set(azureNew, page{body: `{"Events": []}`})
	look(t, "then all are tried again", z, none, "")
}

// Turning Scheduled Events on takes up to two minutes: the first answer is
// waited for, the later ones come from memory.
func TestAzureFirstAnswer(t *testing.T) {
	d := azureDouble(t, map[string]page{azureNew: {status: http.StatusInternalServerError}})
	z := NewAzure(NewHTTP(), d.URL)
	for _, step := range []struct {
		reason string
		page   page
		fails  string
		want   time.Duration
	}{
		{"a failure is no first answer", page{status: http.StatusInternalServerError}, "answered 500", 150 * time.Second},
		{"an answer is", page{body: `{"Events": []}`}, "", 5 * time.Second},
		{"a failure after it does not turn anything off", page{status: http.StatusInternalServerError}, "answered 500", 5 * time.Second},
	} {
		d.set(azureNew, step.page)
		_, err := z.Look(t.Context(), 0)
		if step.fails != "" && !contains(err, step.fails) || step.fails == "" && err != nil {
			t.Errorf("%s: %v", step.reason, err)
		}
		if got := z.patience(); got != step.want {
			t.Errorf("%s: the next answer may take %s, want %s", step.reason, got, step.want)
		}
	}
}
