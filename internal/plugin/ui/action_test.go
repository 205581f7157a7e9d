package ui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const deletion = `"action":"delete","object":{"api":"machine.openshift.io","kind":"Machine","namespace":"blue","name":"mill-a"}`

// acting is a server with the machine blue/mill-a, whose actions are logged.
func acting(t *testing.T) (*Server, client.Client, *bytes.Buffer) {
	t.Helper()
	s, c := withSet(t)
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "mill-a", UID: "uid-a", Labels: map[string]string{"pool": "mill", machinev1.MachineClusterIDLabel: "blue"}}}
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: machinev1.GroupVersion.String(), Kind: "MachineSet", Name: "mill", UID: "uid-mill", Controller: ptr.To(true)}}
	if err := c.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	s.options.ActionLog = log
	return s, c, log
}

func exists(t *testing.T, c client.Client) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "mill-a"}, &machinev1.Machine{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// TestActionsNeedTheFlag: without it there is no route.
func TestActionsNeedTheFlag(t *testing.T) {
	s, c, _ := acting(t)
	s.options.ActionLog = nil
	if got := posted(s, "/api/action", `{`+deletion+`}`, same); got.Code != http.StatusNotFound || !exists(t, c) {
		t.Errorf("%d %s, want 404", got.Code, got.Body)
	}
}

// TestActionsAreGuarded: by the same rules as plans, and no other method changes anything.
func TestActionsAreGuarded(t *testing.T) {
	s, c, log := acting(t)
	confirmed := `{` + deletion + `,"confirm":true,"uid":"uid-a","line":"kubectl delete machines.machine.openshift.io/mill-a -n blue"}`
	for header, value := range map[string]string{codeHeader: "guess", "Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"} {
		if got := posted(s, "/api/action", confirmed, func(r *http.Request) { r.Header.Set(header, value) }); got.Code < 400 {
			t.Errorf("%s %s: %d", header, value, got.Code)
		}
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE"} {
		if got := posted(s, "/api/action", confirmed, func(r *http.Request) { r.Method = method }); got.Code < 400 {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
	if !exists(t, c) || log.Len() > 0 {
		t.Errorf("a refused request has deleted the machine, or was logged: %s", log)
	}
}

// TestActionIsPlannedAndConfirmed: the first answer has the command and the plan and changes nothing; the confirmed one
// is performed only for the same object and command, and is logged.
func TestActionIsPlannedAndConfirmed(t *testing.T) {
	s, c, log := acting(t)
	got := posted(s, "/api/action", `{`+deletion+`}`, same)
	var p ActionPage
	if err := json.Unmarshal(got.Body.Bytes(), &p); err != nil || got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	const line = "kubectl delete machines.machine.openshift.io/mill-a -n blue"
	if p.Line != line || p.Label != "Delete and replace: Machine mill-a" || p.UID != "uid-a" || p.Done || p.Plan == nil || len(p.Plan.Plans) != 1 || p.Plan.Plans[0].Created != 2 {
		t.Errorf("%s", got.Body)
	}
	for reason, body := range map[string]string{
		"another object of the name": `{` + deletion + `,"confirm":true,"uid":"uid-b","line":"` + line + `"}`,
		"no object":                  `{` + deletion + `,"confirm":true,"line":"` + line + `"}`,
		"another command":            `{` + deletion + `,"confirm":true,"uid":"uid-a","line":"kubectl get"}`,
	} {
		if got := posted(s, "/api/action", body, same); got.Code != http.StatusConflict {
			t.Errorf("%s: %d %s, want 409", reason, got.Code, got.Body)
		}
	}
	if !exists(t, c) || log.Len() > 0 {
		t.Fatalf("an action that was not confirmed has deleted the machine, or was logged: %s", log)
	}
	got = posted(s, "/api/action", `{`+deletion+`,"confirm":true,"uid":"uid-a","line":"`+line+`"}`, same)
	if got.Code != http.StatusOK || exists(t, c) {
		t.Errorf("%d %s, and the machine exists: %v", got.Code, got.Body, exists(t, c))
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, line+" (UID uid-a): done") {
		t.Errorf("the log is %q", text)
	}
}

// TestActionErrors: an error names the field that it is about.
func TestActionErrors(t *testing.T) {
	s, _, _ := acting(t)
	object := `"object":{"api":"machine.openshift.io","kind":"MachineSet","namespace":"blue","name":"mill"}`
	for body, want := range map[string]string{
		`{` + object + `}`:                                           `action: there is no action ""`,
		`{"action":"delete",` + object + `}`:                         `action: "delete" is not possible for MachineSet mill now`,
		`{"action":"pause",` + object + `}`:                          `action: "pause" is not possible for MachineSet mill now`,
		`{"action":"approve-deletions",` + object + `,"value":"3"}`:  `action: "approve-deletions" is not possible for MachineSet mill now`,
		`{"action":"approve-orphans",` + object + `,"value":"-1"}`:   "value: ",
		`{"action":"approve-orphans",` + object + `}`:                "value: must not be empty",
		`{"action":"delete","object":{"kind":"Machine","name":"a"}}`: "object: api and namespace must not be empty",
	} {
		if got := posted(s, "/api/action", body, same); got.Code != http.StatusUnprocessableEntity || !strings.HasPrefix(got.Body.String(), want) {
			t.Errorf("%s: %d %s, want %q", body, got.Code, got.Body, want)
		}
	}
}
