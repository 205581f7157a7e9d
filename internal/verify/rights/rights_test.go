package rights

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/config"
)

// roles are those of one account: pods of the cluster, secrets of its own namespace, and tokens of kube-system.
const roles = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: machine-controller
rules:
- apiGroups: [""]
  resources: [pods, pods/eviction]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: tokens
  namespace: kube-system
rules:
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [bootstrap-token-abcdef]
  verbs: [delete]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: own
  namespace: millwright-system
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [update]
`

// line is an event of an audit log.
func line(user, verb, ref, decision string) string {
	return fmt.Sprintf(`{"kind":"Event","verb":%q,"user":{"username":%q},"objectRef":{%s},"annotations":{"authorization.k8s.io/decision":%q}}`+"\n", verb, user, ref, decision)
}

func ledger(t *testing.T, log ...string) *Ledger {
	t.Helper()
	shipped, err := Shipped(fstest.MapFS{"rbac/machine-controller/role.yaml": {Data: []byte(roles)}})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLedger(shipped)
	if err := Read(strings.NewReader(strings.Join(log, "")), l.Add); err != nil {
		t.Fatal(err)
	}
	return l
}

const controller = "system:serviceaccount:millwright-system:machine-controller"

var (
	pod      = line(controller, "get", `"resource":"pods","namespace":"a","name":"x"`, "allow")
	eviction = line(controller, "get", `"resource":"pods","subresource":"eviction","namespace":"a","name":"x"`, "allow")
	token    = line(controller, "delete", `"resource":"secrets","namespace":"kube-system","name":"bootstrap-token-abcdef"`, "allow")
	lease    = line("millwright:machine-controller-kubemark", "update", `"resource":"leases","apiGroup":"coordination.k8s.io","namespace":"default"`, "allow")
)

func TestLedger(t *testing.T) {
	cases := []struct {
		name     string
		log      []string
		unneeded []string
		refused  []string
	}{
		{"all is used", []string{pod, eviction, token, lease}, nil, nil},
		{"a subresource is not its resource", []string{pod, token, lease}, []string{"not needed: machine-controller: get pods/eviction (role machine-controller)"}, nil},
		{
			"roles of kube-system are about that alone, and about the names that they have",
			[]string{
				pod, eviction, lease,
				line(controller, "delete", `"resource":"secrets","namespace":"default","name":"bootstrap-token-abcdef"`, "allow"),
				line(controller, "delete", `"resource":"secrets","namespace":"kube-system","name":"another"`, "allow"),
			},
			[]string{"not needed: machine-controller: delete secrets in kube-system (role tokens)"},
			nil,
		},
		{
			"what others ask for is not ours",
			[]string{
				pod, token, lease, line("kubernetes-admin", "get", `"resource":"pods","subresource":"eviction"`, "allow"),
				line("system:serviceaccount:kube-system:machine-controller", "get", `"resource":"pods","subresource":"eviction"`, "allow"),
			},
			[]string{"not needed: machine-controller: get pods/eviction (role machine-controller)"},
			nil,
		},
		{
			"what was refused needs no right, and is told",
			[]string{pod, token, lease, line(controller, "get", `"resource":"pods","subresource":"eviction","namespace":"a"`, "forbid")},
			[]string{"not needed: machine-controller: get pods/eviction (role machine-controller)"},
			[]string{"refused 1 times: machine-controller: get pods/eviction in a"},
		},
		{
			"a user who acts as an account asks for it",
			[]string{pod, token, lease, strings.Replace(
				line("kubernetes-admin", "get", `"resource":"pods","subresource":"eviction"`, "allow"), `"objectRef"`, `"impersonatedUser":{"username":"`+controller+`"},"objectRef"`, 1)},
			nil, nil,
		},
		{"a line that is half written says nothing", []string{pod, eviction, token, lease, pod[:40]}, nil, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			l := ledger(t, tc.log...)
			if diff := cmp.Diff(tc.unneeded, l.Unneeded(nil)); diff != "" {
				t.Errorf("unneeded (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.refused, l.Refused(nil)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMeanings(t *testing.T) {
	l := ledger(t, line(controller, "watch", `"resource":"pods","namespace":"a"`, "allow"), token, lease)
	if got, want := l.Unneeded(nil), []string{"not needed: machine-controller: get pods/eviction (role machine-controller)"}; !slices.Equal(got, want) {
		t.Errorf("who watches lists and gets as well: %q", got)
	}
	l = NewLedger([]Right{{Account: "machine-api-controllers", Verb: "get", Resource: "pods"}})
	if err := Read(strings.NewReader(pod), l.Add); err != nil || l.Unneeded(nil) != nil {
		t.Errorf("operands are the same programs under another account: %q, %v", l.Unneeded(nil), err)
	}
}

func TestDenied(t *testing.T) {
	l := ledger(t, pod, line(controller, "list", `"resource":"secrets","namespace":"a"`, "forbid"))
	if got := l.Refused([]Excuse{{Verb: "list", Resource: "secrets"}}); got != nil {
		t.Errorf("an excuse is ignored: %q", got)
	}
}

func TestExcuses(t *testing.T) {
	l := ledger(t, pod, token, lease)
	if got := l.Unneeded([]Excuse{{Verb: "get", Resource: "pods/eviction"}}); got != nil {
		t.Errorf("an excuse is ignored: %q", got)
	}
	got := l.Unneeded([]Excuse{{Verb: "get", Resource: "pods/eviction"}, {Verb: "delete", Resource: "secrets"}})
	if len(got) != 1 || !strings.HasPrefix(got[0], "excused without need") {
		t.Errorf("a right that is used is excused: %q", got)
	}
}

// TestShipped reads the roles themselves, of which each account has some.
func TestShipped(t *testing.T) {
	shipped, err := Shipped(config.FS)
	if err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{"machine-controller", "machine-controller-manager", "machineset-controller", "machine-api-operator", "machine-api-controllers"} {
		if !slices.ContainsFunc(shipped, func(r Right) bool { return r.Account == account }) {
			t.Errorf("%s has no rights", account)
		}
	}
	for _, e := range slices.Concat(Unseen, Denied) {
		if e.Why == "" {
			t.Errorf("%+v has no reason", e)
		}
	}
	for _, e := range Unseen {
		if !slices.ContainsFunc(shipped, func(r Right) bool { return e.is(r.Account, r.Verb, r.Group, r.Resource) }) {
			t.Errorf("%+v is about no right", e)
		}
	}
}
