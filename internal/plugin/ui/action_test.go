package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/plugin/drains"
	"github.com/millwright-dev/millwright/internal/plugin/ui/changes"
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
	s.drains = drains.New(t.Context(), s.options.Clock, func(client.Object) {})
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
	var p changes.ActionPage
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

// answerOf is the plan of an action, or what the server objects to.
func answerOf(t *testing.T, s *Server, action, object, value string) (p changes.ActionPage, problem string) {
	t.Helper()
	got := posted(s, "/api/action", `{"action":"`+action+`","object":`+object+`,"value":"`+value+`"}`, same)
	if got.Code != http.StatusOK {
		return p, strings.TrimSpace(got.Body.String())
	}
	if err := json.Unmarshal(got.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	return p, ""
}

// confirm performs an action that was planned.
func confirm(t *testing.T, s *Server, action, object, value string) (problem string) {
	t.Helper()
	p, problem := answerOf(t, s, action, object, value)
	if problem != "" {
		return problem
	}
	line, _ := json.Marshal(p.Line)
	got := posted(s, "/api/action", `{"action":"`+action+`","object":`+object+`,"value":"`+value+`","confirm":true,"uid":"`+p.UID+`","line":`+string(line)+`}`, same)
	if got.Code != http.StatusOK {
		return strings.TrimSpace(got.Body.String())
	}
	return ""
}

const (
	setObject     = `{"api":"machine.openshift.io","kind":"MachineSet","namespace":"blue","name":"mill"}`
	machineObject = `{"api":"machine.openshift.io","kind":"Machine","namespace":"blue","name":"mill-a"}`
	stopObject    = `{"api":"millwright.dev","kind":"MachineDisruptionBudget","name":"emergency-stop"}`
)

// TestScale: the size that was planned is the one that is set; if the size has changed since the plan, nothing is.
func TestScale(t *testing.T) {
	s, c, log := acting(t)
	p, problem := answerOf(t, s, "scale", setObject, "5")
	if problem != "" || p.Line != "kubectl scale machinesets.machine.openshift.io/mill --current-replicas=2 --replicas=5 -n blue" || p.Plan == nil || len(p.Plan.Plans) != 1 {
		t.Fatalf("%s %+v", problem, p)
	}
	set := &machinev1.MachineSet{}
	key := client.ObjectKey{Namespace: "blue", Name: "mill"}
	if problem := confirm(t, s, "scale", setObject, "5"); problem != "" {
		t.Fatal(problem)
	}
	if err := c.Get(t.Context(), key, set); err != nil || *set.Spec.Replicas != 5 || !strings.Contains(log.String(), p.Line+" (UID uid-mill): done") {
		t.Errorf("%v, %d machines, log %s", err, *set.Spec.Replicas, log)
	}
	stale := posted(s, "/api/action", `{"action":"scale","object":`+setObject+`,"value":"7","confirm":true,"uid":"uid-mill","line":"kubectl scale machinesets.machine.openshift.io/mill --current-replicas=2 --replicas=7 -n blue"}`, same)
	if err := c.Get(t.Context(), key, set); err != nil || *set.Spec.Replicas != 5 || stale.Code != http.StatusConflict {
		t.Errorf("planned for another size: %d %s, %d machines", stale.Code, stale.Body, *set.Spec.Replicas)
	}
}

// seated gives the machine its node, with a pod.
func seated(t *testing.T, c client.Client) {
	t.Helper()
	m := &machinev1.Machine{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "mill-a"}, m); err != nil {
		t.Fatal(err)
	}
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "n"}
	if err := c.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web-a", UID: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "w", Controller: ptr.To(true)}}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// TestDrainAndBack: a drain is planned, begins only when it is confirmed, evicts the pod, is logged twice, and can be undone.
func TestDrainAndBack(t *testing.T) {
	s, c, _ := acting(t)
	log := &syncBuffer{}
	s.options.ActionLog = log
	seated(t, c)
	p, problem := answerOf(t, s, "drain", machineObject, "")
	if problem != "" || p.Line != "kubectl drain n --ignore-daemonsets --delete-emptydir-data" || len(p.Plan.Changes) != 1 || !strings.Contains(p.Plan.Plans[0].Lines[0].Text, "drains 1 pod") {
		t.Fatalf("%s %+v", problem, p.Plan)
	}
	if log.String() != "" || cordoned(t, c) {
		t.Fatal("the plan has begun the drain")
	}
	if problem := confirm(t, s, "drain", machineObject, ""); problem != "" {
		t.Fatal(problem)
	}
	for s.drains.Underway("uid-a") {
		time.Sleep(10 * time.Millisecond)
	}
	err := c.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "web-a"}, &corev1.Pod{})
	if got := s.drains.Of("uid-a"); !apierrors.IsNotFound(err) || !cordoned(t, c) || got.State != drains.Done {
		t.Errorf("%+v, pod: %v, cordoned %v", got, err, cordoned(t, c))
	}
	if text := log.String(); !strings.Contains(text, p.Line+" (UID uid-a): begun") || !strings.Contains(text, p.Line+" (UID uid-a): done, 1 pod has left the node") {
		t.Errorf("the log is %q", text)
	}
	if problem := confirm(t, s, "uncordon", machineObject, ""); problem != "" || cordoned(t, c) {
		t.Errorf("uncordon: %s, cordoned %v", problem, cordoned(t, c))
	}
}

func cordoned(t *testing.T, c client.Client) bool {
	t.Helper()
	n := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "n"}, n); err != nil {
		t.Fatal(err)
	}
	return n.Spec.Unschedulable
}

// TestStopForbidsDrains: in an emergency stop no drain begins, until it ends.
func TestStopForbidsDrains(t *testing.T) {
	s, c, log := acting(t)
	seated(t, c)
	p, problem := answerOf(t, s, "stop", stopObject, "storage is down")
	if problem != "" || p.Line != "kubectl machine stop --message 'storage is down'" || p.UID != "" {
		t.Fatalf("%s %+v", problem, p)
	}
	key := client.ObjectKey{Name: "emergency-stop"}
	if err := c.Get(t.Context(), key, &v1alpha1.MachineDisruptionBudget{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the plan has stored the budget: %v", err)
	}
	if problem := confirm(t, s, "stop", stopObject, "storage is down"); problem != "" {
		t.Fatal(problem)
	}
	b := &v1alpha1.MachineDisruptionBudget{}
	if err := c.Get(t.Context(), key, b); err != nil || !b.Spec.Paused || b.Spec.Message != "storage is down" || !strings.Contains(log.String(), p.Line) {
		t.Errorf("%v %+v %s", err, b.Spec, log)
	}
	const want = "action: no drain begins: machine disruption budget emergency-stop, which is paused (storage is down)"
	if _, problem := answerOf(t, s, "drain", machineObject, ""); problem != want {
		t.Errorf("a plan: %q, want %q", problem, want)
	}
	hurried := `{"action":"drain","object":` + machineObject + `,"confirm":true,"uid":"uid-a","line":"kubectl drain n --ignore-daemonsets --delete-emptydir-data"}`
	if got := posted(s, "/api/action", hurried, same); strings.TrimSpace(got.Body.String()) != want || cordoned(t, c) {
		t.Errorf("without a plan: %s, cordoned %v", got.Body, cordoned(t, c))
	}
	b.UID = "uid-stop" // the fake API server gives none
	if err := c.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if problem := confirm(t, s, "resume-disruption", stopObject, ""); problem != "" {
		t.Error(problem)
	}
	if _, problem := answerOf(t, s, "drain", machineObject, ""); problem != "" {
		t.Errorf("after the stop: %s", problem)
	}
}

// TestLostPodsForbidDrains: a node with a pod that no controller creates again is not even cordoned.
func TestLostPodsForbidDrains(t *testing.T) {
	s, c, _ := acting(t)
	seated(t, c)
	alone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "alone", UID: "q"}, Spec: corev1.PodSpec{NodeName: "n"}}
	if err := c.Create(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	hurried := posted(s, "/api/action", `{"action":"drain","object":`+machineObject+`,"confirm":true,"uid":"uid-a","line":"kubectl drain n --ignore-daemonsets --delete-emptydir-data"}`, same)
	_, planned := answerOf(t, s, "drain", machineObject, "")
	for _, problem := range []string{planned, hurried.Body.String()} {
		if !strings.Contains(problem, "no controller creates web/alone again") || cordoned(t, c) || s.drains.Underway("uid-a") {
			t.Errorf("%q, cordoned %v", problem, cordoned(t, c))
		}
	}
}

// TestUncordonNeedsRights: a user who may not change the node does not end the drain of another one.
func TestUncordonNeedsRights(t *testing.T) {
	s, c, _ := acting(t)
	s.options.ActionLog = &syncBuffer{}
	seated(t, c)
	s.fleet.Target = interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewForbidden(corev1.Resource("nodes"), "n", errors.New("not allowed"))
		},
	})
	m := &machinev1.Machine{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "mill-a"}, m); err != nil {
		t.Fatal(err)
	}
	held := interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
			return apierrors.NewTooManyRequests("later", 1)
		},
	})
	n := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "n"}, n); err != nil {
		t.Fatal(err)
	}
	if err := s.drains.Start(drains.Order{Machine: m, Node: n, Control: c, Target: held, Log: func(string) {}}); err != nil {
		t.Fatal(err)
	}
	if problem := confirm(t, s, "uncordon", machineObject, ""); !strings.Contains(problem, "not allowed") || !s.drains.Underway("uid-a") {
		t.Errorf("%q, underway %v", problem, s.drains.Underway("uid-a"))
	}
}

// TestNodesThatCannotBeChanged: a page that only reads the cluster of the nodes drains none of them.
func TestNodesThatCannotBeChanged(t *testing.T) {
	s, c, _ := acting(t)
	seated(t, c)
	s.fleet.Target = struct{ client.Reader }{c}
	if problem := confirm(t, s, "drain", machineObject, ""); !strings.Contains(problem, "this page cannot change the nodes") || cordoned(t, c) {
		t.Errorf("%q, cordoned %v", problem, cordoned(t, c))
	}
}

// syncBuffer is a log that drains write while a test reads it.
type syncBuffer struct {
	sync.Mutex
	text strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.text.Write(p)
}

func (s *syncBuffer) String() string {
	s.Lock()
	defer s.Unlock()
	return s.text.String()
}
