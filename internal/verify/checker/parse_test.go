package checker

import (
	"strings"
	"testing"
	"time"
)

// Lines as the API server writes them, shortened.
const (
	created = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete","verb":"create","user":{"username":"millwright:sets"},"objectRef":{"resource":"machines","namespace":"default","apiGroup":"machine.sapcloud.io","apiVersion":"v1alpha1"},"responseStatus":{"metadata":{},"code":201},"requestObject":{"kind":"Machine"},"responseObject":{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine","metadata":{"name":"m","namespace":"default","uid":"u","resourceVersion":"7","finalizers":["f"],"ownerReferences":[{"kind":"MachineSet","uid":"s","controller":true}]},"spec":{"class":{"kind":"MachineClass","name":"v1"},"drainTimeout":"15s"},"status":{"currentStatus":{"phase":"Pending"}}},"requestReceivedTimestamp":"2026-01-01T00:00:01.000001Z","stageTimestamp":"2026-01-01T00:00:01.000002Z"}`
	bound   = `{"stage":"ResponseComplete","verb":"create","user":{"username":"scheduler"},"objectRef":{"resource":"pods","namespace":"work","name":"p","subresource":"binding"},"responseStatus":{"code":201},"requestObject":{"kind":"Binding","target":{"kind":"Node","name":"m"}},"responseObject":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201},"requestReceivedTimestamp":"2026-01-01T00:00:02Z","stageTimestamp":"2026-01-01T00:00:02Z"}`
	deleted = `{"stage":"ResponseComplete","verb":"delete","user":{"username":"kwok"},"objectRef":{"resource":"nodes","name":"m"},"responseStatus":{"code":200},"responseObject":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"m","kind":"nodes","uid":"n"}},"requestReceivedTimestamp":"2026-01-01T00:00:03Z","stageTimestamp":"2026-01-01T00:00:03Z"}`
	listed  = `{"stage":"ResponseComplete","verb":"list","user":{"username":"census"},"objectRef":{"resource":"machinesets","apiGroup":"machine.openshift.io"},"responseStatus":{"code":200},"responseObject":{"kind":"MachineSetList","metadata":{"resourceVersion":"9"},"items":[{"kind":"MachineSet","metadata":{"name":"a","uid":"a"},"spec":{"replicas":3,"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}}}}]},"requestReceivedTimestamp":"2026-01-01T00:00:04Z","stageTimestamp":"2026-01-01T00:00:04Z"}`
	denied  = `{"stage":"ResponseComplete","verb":"create","user":{"username":"x"},"objectRef":{"resource":"pods","namespace":"work","name":"p","subresource":"eviction"},"responseStatus":{"code":429},"responseObject":{"kind":"Status","status":"Failure"},"requestReceivedTimestamp":"2026-01-01T00:00:05Z","stageTimestamp":"2026-01-01T00:00:05Z"}`
)

func TestParseAudit(t *testing.T) {
	received := strings.Replace(created, "ResponseComplete", "RequestReceived", 1)
	got, err := ParseAudit(strings.NewReader(strings.Join([]string{created, received, bound, deleted, listed, denied, created[:100]}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 {
		t.Fatalf("%d requests, want the five that were answered", len(got))
	}
	m := got[0].Write.Object
	_, owner := m.owner()
	if got[0].Line != 1 || got[0].Write.Done.Sub(got[0].At) != time.Microsecond || m.Metadata.UID != "u" || owner != "s" || m.phase() != "Pending" || m.recipe() != "v1" || m.Spec.DrainTimeout != "15s" {
		t.Errorf("the machine reads %+v", got[0])
	}
	if got[1].Write.Target != "m" || got[2].Write.Object.Details.UID != "n" || got[4].Write.OK() {
		t.Errorf("binding %+v, deletion %+v, eviction %+v", got[1], got[2], got[4])
	}
	surge, unavailable := got[3].Write.Items[0].bounds()
	if surge != 1 || unavailable != 1 {
		t.Errorf("25%% and 1 of 3 are %d and %d, want 1 and 1", surge, unavailable)
	}
	if _, err := ParseAudit(strings.NewReader("{broken\n" + created)); err == nil {
		t.Error("a broken line in the middle is passed over")
	}
}

func TestParseCloud(t *testing.T) {
	got, err := ParseCloud(strings.NewReader(`{"at":"2026-01-01T00:00:02Z","what":"reply","id":"1-1","verb":"create","uid":"u","machine":"m","error":"x"}
{"at":"2026-01-01T00:00:01Z","what":"call","id":"1-1","verb":"create","uid":"u","machine":"m"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].What != Call || got[1].Error != "x" || got[1].Where() != "cloud.jsonl:1" {
		t.Errorf("the log reads %+v, want it in the order of time", got)
	}
}
