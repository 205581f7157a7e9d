package uiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func admin(t *testing.T) client.Client {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	c, err := client.New(devplanetest.Start(t).Config, client.Options{Scheme: run.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// machines creates a machine of each API: <namespace>-o and <namespace>-g.
func machines(t *testing.T, c client.Client, namespace string) *machinev1.Machine {
	t.Helper()
	o := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace + "-o", Labels: map[string]string{machinev1.MachineClusterIDLabel: "blue"}}}
	o.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"kind":"KubemarkMachineProviderSpec"}`)}
	g := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace + "-g"}, Spec: v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}}}
	for _, one := range []client.Object{o, g} {
		if err := c.Create(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// TestUsersSeeTheirOwnObjects: two users, at the same time, over TLS. Neither sees objects of the other, also not by asking for
// them. A third one without rights gets the API server's refusal.
func TestUsersSeeTheirOwnObjects(t *testing.T) {
	c, p := admin(t), startProcess(t, "--token-check-interval=1s")
	blue, green := devplanetest.Namespace(t), devplanetest.Namespace(t)
	machine := machines(t, c, blue)
	machines(t, c, green)
	viewer := []string{"get", "list", "watch"}
	users := map[string]user{blue: newUser(t, blue, "ann", viewer...), green: newUser(t, green, "bob", viewer...)}
	other := map[string]string{blue: green, green: blue}

	streams := map[string]*stream{}
	for own, u := range users {
		streams[own] = p.open(u.token, own)
	}
	for own := range users {
		streams[own].says(t, own+"-o", own+"-g")
	}
	for own, u := range users {
		foreign := p.open(u.token, other[own])
		foreign.says(t, `"whole":true`, "forbidden", u.full())
		all := p.open(u.token, allNamespaces)
		all.says(t, `"whole":true`, "forbidden")
		page := p.firstEvent("/api/object?api=machine.openshift.io&kind=Machine&namespace="+other[own]+"&name="+other[own]+"-o", u.token, own)
		if !strings.Contains(page, "forbidden") || strings.Contains(page, "KubemarkMachineProviderSpec") {
			t.Errorf("%s reads a machine of another namespace: %s", u.name, page)
		}
		for _, s := range []*stream{foreign, all, streams[own]} {
			if text := s.String(); strings.Contains(text, other[own]+"-o") || strings.Contains(text, other[own]+"-g") {
				t.Errorf("%s sees machines of another namespace: %s", u.name, text)
			}
			if s != streams[own] {
				s.cancel()
			}
		}
	}
	if err := c.Status().Patch(t.Context(), machine, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Failed","errorMessage":"only for blue"}}`))); err != nil {
		t.Fatal(err)
	}
	streams[blue].says(t, "only for blue")
	if strings.Contains(streams[green].String(), "only for blue") {
		t.Error("a change was sent to a user of another namespace")
	}

	nobody := newUser(t, blue, "guest")
	refused := p.open(nobody.token, blue)
	refused.says(t, `"whole":true`, "forbidden", nobody.full())
	if strings.Contains(refused.String(), blue+"-o") {
		t.Error("a user without rights sees machines")
	}
	if status, about := p.do(p.request(t.Context(), http.MethodGet, "/api/about", users[blue].token, "", "")); status != http.StatusOK || !strings.Contains(about, users[blue].full()) {
		t.Errorf("about: %d %s", status, about)
	}
	p.stop()
	withoutTokens(t, p, users[blue].token, users[green].token, nobody.token)
}

var requestURI = regexp.MustCompile(`"requestURI":"[^"]*"`)

// withoutTokens fails the test if the log of the program, or a URL that the API server has recorded, has a token. The log is
// written with --v=10.
func withoutTokens(t *testing.T, p *process, tokens ...string) {
	t.Helper()
	audit, err := os.ReadFile(devplanetest.Start(t).AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	urls := strings.Join(requestURI.FindAllString(string(audit), -1), "\n")
	if log := p.stderr.String(); !strings.Contains(log, "a session of the user begins") || !strings.Contains(log, "selfsubjectreviews") || !strings.Contains(urls, "watch=true") {
		t.Errorf("the log is not verbose, or the audit log is empty:\n%s", tail(log))
	}
	for _, token := range tokens {
		signature := token[strings.LastIndex(token, ".")+1:]
		for where, text := range map[string]string{"stdout": p.stdout.String(), "stderr": p.stderr.String(), "a URL of the audit log": urls} {
			if strings.Contains(text, token) || strings.Contains(text, signature) {
				t.Errorf("%s has a token", where)
			}
		}
	}
}

// TestTheFeedEndsWithTheToken: the API server does not end watches of a token that it does not accept any more. The program does.
func TestTheFeedEndsWithTheToken(t *testing.T) {
	c, p := admin(t), startProcess(t, "--token-check-interval=1s")
	namespace := devplanetest.Namespace(t)
	machines(t, c, namespace)
	ann, bob := newUser(t, namespace, "ann", "get", "list", "watch"), newUser(t, namespace, "bob", "get", "list", "watch")
	revoked, kept := p.open(ann.token, namespace), p.open(bob.token, namespace)
	revoked.says(t, namespace+"-o")
	kept.says(t, namespace+"-o")
	env := devplanetest.Start(t)
	if err := env.Client.CoreV1().ServiceAccounts(namespace).Delete(t.Context(), ann.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the stream of the deleted account ends", revoked.hasEnded)
	r := p.request(t.Context(), http.MethodGet, "/api/fleet", ann.token, namespace, "")
	answer, err := p.client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("%d, %v, want 401 and Bearer", answer.StatusCode, answer.Header)
	}
	if kept.hasEnded() {
		t.Error("the stream of another user has ended, too")
	}

	// Without the right to read, the user does not see what was read before.
	if err := env.Client.RbacV1().RoleBindings(namespace).Delete(t.Context(), bob.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the stream of the user without rights ends", kept.hasEnded)
	again := p.open(bob.token, namespace)
	again.says(t, `"whole":true`, "forbidden")
	if strings.Contains(again.String(), namespace+"-o") {
		t.Error("a user whose rights were withdrawn sees machines")
	}
	if log := p.stderr.String(); !strings.Contains(log, errRights.Error()) || !strings.Contains(log, errInvalid.Error()) {
		t.Errorf("the log does not say why the sessions ended:\n%s", tail(log))
	}
}

// TestWhoGetsIn: only a token that the API server accepts, under a name of the page, over TLS.
func TestWhoGetsIn(t *testing.T) {
	p := startProcess(t)
	ann := newUser(t, devplanetest.Namespace(t), "ann")
	for _, c := range []struct {
		reason string
		edit   func(*http.Request)
		want   int
	}{
		{"a token", func(*http.Request) {}, 200},
		{"bearer in lower case", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+ann.token) }, 200},
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"an empty token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, 401},
		{"a password", func(r *http.Request) { r.SetBasicAuth("ann", ann.token) }, 401},
		{"a false token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+ann.token+"x") }, 401},
		{"a token with a space", func(r *http.Request) { r.Header.Set("Authorization", "Bearer a b") }, 401},
		{"a token that is too long", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("a", mostToken+1)) }, 401},
		{"a token in the address", func(r *http.Request) { r.Header.Del("Authorization"); r.URL.RawQuery = "access_token=" + ann.token }, 401},
		{"a cookie", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.AddCookie(&http.Cookie{Name: "token", Value: ann.token})
		}, 401},
		{"another user's name", func(r *http.Request) { r.Header.Set("Impersonate-User", "system:admin") }, 200},
		{"another host", func(r *http.Request) { r.Host = "evil.example.com" }, 403},
		{"the loopback interface", func(r *http.Request) { r.Host = "localhost" }, 403},
		{"another site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"not a namespace", func(r *http.Request) { r.Header.Set(namespaceHeader, "a/../b") }, 400},
	} {
		r := p.request(t.Context(), http.MethodGet, "/api/about", ann.token, "", "")
		c.edit(r)
		status, text := p.do(r)
		if status != c.want {
			t.Errorf("%s: %d %s, want %d", c.reason, status, text, c.want)
		}
		if status == http.StatusOK && !strings.Contains(text, ann.full()) {
			t.Errorf("%s: %s, want the user %s", c.reason, text, ann.full())
		}
	}
	if answer, err := http.Get("http://" + p.address + "/"); err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Error("the page is served over plain HTTP")
		}
	}
	status, text := p.do(p.request(t.Context(), http.MethodGet, "/", "", "", ""))
	if status != http.StatusOK || !strings.Contains(text, "app.js") {
		t.Errorf("the page needs no token: %d %s", status, text)
	}
	p.certify("second")
	until(t, "the new certificate is served", func() bool {
		answer, err := p.client().Get("https://" + host + "/healthz")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	})
}

// TestNodesOfAnotherCluster: if the machines join another cluster, nodes of this one are not theirs, even if they have the same name.
func TestNodesOfAnotherCluster(t *testing.T) {
	c, p, namespace := admin(t), startProcess(t, "--nodes=false"), devplanetest.Namespace(t)
	machine := machines(t, c, namespace)
	if err := c.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: machine.Name}}); err != nil {
		t.Fatal(err)
	}
	status := `{"status":{"phase":"Running","nodeRef":{"kind":"Node","name":"` + machine.Name + `"}}}`
	if err := c.Status().Patch(t.Context(), machine, client.RawPatch("application/merge-patch+json", []byte(status))); err != nil {
		t.Fatal(err)
	}
	token := newUser(t, namespace, "ann", "get", "list", "watch").token
	p.open(token, namespace).says(t, `"whole":true`, machine.Name, errNodes)
	page := p.firstEvent("/api/object?api=machine.openshift.io&kind=Machine&namespace="+namespace+"&name="+machine.Name, token, namespace)
	if !strings.Contains(page, errNodes) || strings.Contains(page, `"node":{`) {
		t.Errorf("the page is %s", page)
	}
}

// errNodes is the reason for which nodes cannot be read.
const errNodes = "the machines join another cluster, which this page does not read"

// TestActionsOfUsers: without the flag the server offers no actions. With it, the API server decides by the user's rights, and each action is
// a line.
func TestActionsOfUsers(t *testing.T) {
	c, namespace := admin(t), devplanetest.Namespace(t)
	machine := machines(t, c, namespace)
	viewer := newUser(t, namespace, "viewer", "get", "list", "watch")
	editor := newUser(t, namespace, "editor", "get", "list", "watch", "delete")
	line := "kubectl delete machines.machine.openshift.io/" + machine.Name + " -n " + namespace
	object := `"action":"delete","object":{"api":"machine.openshift.io","kind":"Machine","namespace":"` + namespace + `","name":"` + machine.Name + `"}`
	confirmed := fmt.Sprintf(`{%s,"confirm":true,"uid":%q,"line":%q}`, object, machine.UID, line)

	reading := startProcess(t)
	if status, text := reading.do(reading.request(t.Context(), http.MethodPost, "/api/action", editor.token, namespace, confirmed)); status != http.StatusNotFound {
		t.Errorf("without --allow-actions: %d %s, want 404", status, text)
	}
	reading.stop()

	p := startProcess(t, "--allow-actions")
	for reason, edit := range map[string]func(*http.Request){
		"another origin":         func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.com") },
		"plain HTTP":             func(r *http.Request) { r.Header.Set("Origin", "http://"+host) },
		"another port":           func(r *http.Request) { r.Header.Set("Origin", "https://"+host+":8444") },
		"no origin":              func(r *http.Request) { r.Header.Del("Origin") },
		"another site":           func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"a form of another page": func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
	} {
		r := p.request(t.Context(), http.MethodPost, "/api/action", editor.token, namespace, confirmed)
		edit(r)
		if status, text := p.do(r); status < 400 {
			t.Errorf("%s: %d %s", reason, status, text)
		}
	}
	status, text := p.do(p.request(t.Context(), http.MethodPost, "/api/action", editor.token, namespace, "{"+object+"}"))
	var planned struct{ Line, UID string }
	if err := json.Unmarshal([]byte(text), &planned); err != nil || status != http.StatusOK || planned.Line != line || planned.UID != string(machine.UID) {
		t.Fatalf("the plan: %d %s", status, text)
	}
	if status, text := p.do(p.request(t.Context(), http.MethodPost, "/api/action", viewer.token, namespace, confirmed)); status < 400 || !strings.Contains(text, "forbidden") {
		t.Errorf("a user who may not delete: %d %s", status, text)
	}
	until(t, "the refused action is a line", func() bool { return strings.Contains(p.stdout.String(), "refused") })
	if strings.Contains(p.stdout.String(), "done") {
		t.Errorf("the refused action is recorded as %q", p.stdout.String())
	}
	if status, text := p.do(p.request(t.Context(), http.MethodPost, "/api/action", editor.token, namespace, confirmed)); status != http.StatusOK {
		t.Errorf("a user who may delete: %d %s", status, text)
	}
	p.stop()
	lines := strings.Split(strings.TrimSpace(p.stdout.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], fmt.Sprintf("%q: %s (UID %s): refused", viewer.full(), line, machine.UID)) || !strings.HasSuffix(lines[1], fmt.Sprintf("%q: %s (UID %s): done", editor.full(), line, machine.UID)) {
		t.Errorf("stdout:\n%s", p.stdout.String())
	}
	withoutTokens(t, p, viewer.token, editor.token)
}

// TestLimits: users who have the page open keep it, also from each other.
func TestLimits(t *testing.T) {
	p := startProcess(t, "--max-users=5")
	namespace := devplanetest.Namespace(t)
	ann, bob, guest := newUser(t, namespace, "ann"), newUser(t, namespace, "bob"), newUser(t, namespace, "guest")
	var open []*stream
	for i := range mostOfUser {
		s := p.open(ann.token, fmt.Sprint("n", i))
		s.says(t, `"whole":true`)
		open = append(open, s)
	}
	for _, token := range []string{ann.token, ann.another(t)} {
		if s := p.open(token, "more"); s.status != http.StatusTooManyRequests {
			t.Errorf("one session more of a user: %d, want 429", s.status)
		}
	}
	first := p.open(bob.token, namespace)
	first.says(t, `"whole":true`)
	if s := p.open(guest.token, namespace); s.status != http.StatusServiceUnavailable {
		t.Errorf("one user more: %d, want 503", s.status)
	}
	for range mostOpen - 1 {
		p.open(bob.token, namespace)
	}
	if s := p.open(bob.token, namespace); s.status != http.StatusTooManyRequests {
		t.Errorf("one stream more: %d, want 429", s.status)
	}
	open[0].cancel()
	until(t, "a closed page makes room", func() bool { return p.open(guest.token, namespace).status == http.StatusOK })
	for i, s := range append(open[1:], first) {
		if s.hasEnded() {
			t.Errorf("open stream %d was ended", i)
		}
	}
	p.stop()
	until(t, "streams end with the process", first.hasEnded)
}
