package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
)

// sent are the tokens of the launches so far.
func (w *world) sent() (tokens []string) {
	for _, in := range w.Received("RunInstances") {
		tokens = append(tokens, in.Get("ClientToken"))
	}
	return tokens
}

// try creates an instance of the class by that attempt, and returns the error, if any.
func (w *world) try(t *testing.T, p provider.Provider, class provider.Class, ref provider.Ref, attempt int) provider.Kind {
	t.Helper()
	s, err := p.Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	asked := want
	asked.Attempt = attempt
	if _, err = s.Create(t.Context(), ref, asked); err == nil {
		return ""
	}
	return provider.KindOf(err)
}

// another is the class with another type of instances.
func another(class provider.Class) provider.Class { return with(class, `"m5.large"`, `"m6a.large"`) }

// EC2 remembers the token of a refused launch, with its parameters.
func TestARefusedLaunchSpendsItsToken(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w := sample(t)
		p, class, ref := w.start(), classOf(api, "c1"), refOf("m")
		if err := w.Do("exhaust", "us-east-1a/m5.large"); err != nil {
			t.Fatal(err)
		}
		for attempt, c := range []struct {
			class provider.Class
			kind  provider.Kind
		}{{class, provider.Exhausted}, {class, provider.Exhausted}, {another(class), ""}} {
			if got := w.try(t, p, c.class, ref, attempt); got != c.kind {
				t.Fatalf("%s: a launch ends in %q, want %q; tokens %q", api, got, c.kind, w.sent())
			}
		}
		token := ref.Token("c1")
		if got := strings.Join(w.sent(), " "); got != token+" "+token+"-1 "+token+"-2" {
			t.Errorf("%s: tokens %s", api, got)
		}
	}
}

// A lost record leaves a spent token. The next process replaces it, but only when it is certain that it
// created nothing.
func TestATokenSpentByAnotherProcess(t *testing.T) {
	w := sample(t)
	class, ref := classOf(provider.OpenShift, "c1"), refOf("m")
	if err := w.Do("exhaust", "us-east-1a/m5.large"); err != nil {
		t.Fatal(err)
	}
	if got := w.try(t, w.start(), class, ref, 0); got != provider.Exhausted {
		t.Fatalf("it ends in %q", got)
	}
	p := w.start()
	for n, after := range []time.Duration{0, 10 * time.Second, 11 * time.Second} {
		w.clock.Advance(after)
		if got := w.try(t, p, another(class), ref, 0); got != provider.Transient {
			t.Fatalf("launch %d ends in %q: the token is spent", n, got)
		}
	}
	token := ref.Token("c1")
	if got := w.sent(); got[len(got)-1] != token {
		t.Errorf("there is another token before it is certain that nothing was made: %q", got)
	}
	if got := w.try(t, p, another(class), ref, 0); got != "" {
		t.Errorf("it ends in %q, with the tokens %q", got, w.sent())
	}
}

// An instance whose answer was lost has the token, whatever its tags are by now.
func TestATokenThatAnInstanceHasIsKept(t *testing.T) {
	w := sample(t)
	class, ref := classOf(provider.OpenShift, "c1"), refOf("m")
	w.running(t, w.open(t, class), ref)
	for _, key := range []string{"Name", "millwright.dev/machine-uid", "kubernetes.io/cluster/c1"} {
		if err := w.Do("untag", w.Instances()[0].ID+"="+key); err != nil {
			t.Fatal(err)
		}
	}
	p := w.start()
	for range 5 {
		if got := w.try(t, p, another(class), ref, 0); got != provider.Transient {
			t.Fatalf("it ends in %q, with the tokens %q", got, w.sent())
		}
		w.clock.Advance(time.Minute)
	}
	if n := len(w.Instances()); n != 1 {
		t.Errorf("there are %d instances", n)
	}
}

// A creation that is repeated because an answer was lost creates one instance.
func TestALostReplyKeepsTheToken(t *testing.T) {
	w := sample(t)
	p, class, ref := w.start(), classOf(provider.OpenShift, "c1"), refOf("m")
	w.SetLag(15 * time.Second)
	w.server.Inject(double.Fault{Operation: "RunInstances", Failure: double.Failure{Kind: "Transient"}, Done: true, Times: 1})
	if got := w.try(t, p, class, ref, 0); got != provider.Transient {
		t.Fatalf("a lost reply is %q", got)
	}
	w.server.Inject(double.Fault{Operation: "RunInstances", Failure: double.Failure{Kind: "Exhausted"}, Times: 1})
	if got := w.try(t, p, class, ref, 0); got != provider.Exhausted {
		t.Fatalf("a refusal is %q", got)
	}
	if got := w.try(t, p, class, ref, 0); got != "" {
		t.Errorf("the launch repeated is %q", got)
	}
	if n := len(w.Instances()); n != 1 {
		t.Errorf("there are %d instances, made with the tokens %q", n, w.sent())
	}
}

// The token of a refused launch leaves no dedicated hosts behind, in any process.
func TestSpentTokensLeaveNoHosts(t *testing.T) {
	w := sample(t)
	class, ref := onHosts(provider.OpenShift, "c1"), refOf("m")
	if err := w.Do("exhaust", "us-east-1a/m5.large"); err != nil {
		t.Fatal(err)
	}
	p := w.start()
	for attempt := range 2 {
		if got := w.try(t, p, class, ref, attempt); got != provider.Exhausted || len(w.Hosts()) != 0 {
			t.Fatalf("it ends in %q and leaves the hosts %v", got, w.Hosts())
		}
	}
	if got := w.try(t, p, another(class), ref, 2); got != "" || len(w.Hosts()) != 1 {
		t.Errorf("with another type it ends in %q and has the hosts %v", got, w.Hosts())
	}
	// Another machine is refused, and the next process does not know it.
	other := refOf("m-2")
	if got := w.try(t, p, class, other, 0); got != provider.Exhausted || len(w.Hosts()) != 1 {
		t.Fatalf("it ends in %q, hosts %v", got, w.Hosts())
	}
	p = w.start()
	last := provider.Transient
	for n := 0; n < 10 && last == provider.Transient; n++ {
		last = w.try(t, p, another(class), other, 0)
		if len(w.Hosts()) > 2 {
			t.Fatalf("hosts pile up: %v", w.Hosts())
		}
		w.clock.Advance(11 * time.Second)
	}
	if last != "" || len(w.Hosts()) != 2 {
		t.Errorf("a new process ends in %q and has the hosts %v", last, w.Hosts())
	}
}

// IAM passes a new profile to EC2 only some time after its creation.
func TestANewInstanceProfileIsAwaited(t *testing.T) {
	inventory := ec2.Sample()
	inventory.InstanceProfiles = nil
	w := newWorld(t, ec2.Options{Inventory: inventory})
	p := w.start()
	for api, field := range map[string]string{provider.OpenShift: "iamInstanceProfile", provider.Gardener: "iam"} {
		s, err := p.Open(t.Context(), classOf(api, "c1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			after time.Duration
			kind  provider.Kind
		}{{0, provider.Transient}, {119 * time.Second, provider.Transient}, {time.Second, provider.Invalid}, {5 * time.Minute, provider.Invalid}} {
			w.clock.Advance(c.after)
			_, err := s.Create(t.Context(), refOf("m"), want)
			if got := provider.KindOf(err); got != c.kind || got == provider.Invalid && !strings.HasPrefix(err.Error(), field+": ") {
				t.Errorf("%s: after %v more it is %q, want %q: %v", api, c.after, got, c.kind, err)
			}
		}
	}
}
