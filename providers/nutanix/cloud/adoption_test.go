package cloud_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider"
)

// found returns what a session finds for a machine.
func found(t *testing.T, s provider.Session, ref provider.Ref) []provider.Instance {
	t.Helper()
	all, err := s.Find(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestVirtualMachineOfTheOriginal: a virtual machine with the cluster's category is found by name, and gets the marks of its
// machine. One of another cluster, or of none, is not.
func TestVirtualMachineOfTheOriginal(t *testing.T) {
	w, ref := newWorld(t, prism.Options{Inventory: inventory()}), refOf("worker-1")
	for _, cluster := range []string{"c1", "c2"} {
		if err := w.plant(classOf("", cluster), provider.Instance{Name: "worker-1"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.plantNamed("worker-1", double.UUID(), "a note", nil); err != nil {
		t.Fatal(err)
	}
	s := w.open(t, classOf("", "c1"))
	all := found(t, s, ref)
	if len(all) != 1 || all[0].UID != "" || all[0].Name != "worker-1" {
		t.Fatalf("%+v", all)
	}
	if i, err := s.Create(t.Context(), ref, want); err != nil || i.ID != all[0].ID {
		t.Errorf("creates %s beside %s: %v", i.ID, all[0].ID, err)
	}
	maintainer, _ := provider.As[provider.Maintainer](s)
	if err := maintainer.Maintain(t.Context(), ref, all[0]); err != nil {
		t.Error(err)
	}
	if again := found(t, s, ref); len(again) != 1 || again[0].UID != ref.UID || again[0].Namespace != "machines" {
		t.Errorf("after the takeover %+v", again)
	}
}

// TestVirtualMachineWithoutACategory: if the category of the cluster does not exist, the original creates virtual machines without
// a mark of the cluster. The provider ID of the machine finds such a virtual machine, and from then on its marks do.
func TestVirtualMachineWithoutACategory(t *testing.T) {
	w, ref, uuid := sample(t), refOf("worker-1"), double.UUID()
	if err := w.plantNamed("worker-1", uuid, "keep this note", nil); err != nil {
		t.Fatal(err)
	}
	s := w.open(t, classOf("", "other"))
	if all := found(t, s, ref); len(all) > 0 {
		t.Errorf("the name alone finds %+v", all)
	}
	ref.ProviderID = "nutanix://" + uuid
	all := found(t, s, ref)
	if len(all) != 1 {
		t.Fatalf("the provider ID finds %+v", all)
	}
	maintainer, _ := provider.As[provider.Maintainer](s)
	if err := maintainer.Maintain(t.Context(), ref, all[0]); err != nil {
		t.Error(err)
	}
	ref.ProviderID = ""
	if all = found(t, s, ref); len(all) != 1 || maintainer.Unkept(ref, all[0]) {
		t.Errorf("after the marks: %+v", all)
	}
	if listed := w.listed(t, s); len(listed) != 1 {
		t.Errorf("lists %+v", listed)
	}
	if i := w.described(uuid); !strings.HasPrefix(i, "keep this note millwright.dev/") {
		t.Errorf("the description is %q", i)
	}
}

func (w *world) listed(t *testing.T, s provider.Session) (all []provider.Instance) {
	t.Helper()
	for i, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, i)
	}
	return all
}

// described is the description in the last change of a virtual machine.
func (w *world) described(uuid string) string {
	all := w.Received("PUT vms/*")
	if len(all) == 0 || !strings.HasSuffix(all[len(all)-1].Path, uuid) {
		return ""
	}
	_, text, _ := strings.Cut(string(all[len(all)-1].Body), `"description":"`)
	text, _, _ = strings.Cut(text, `"`)
	return text
}

// TestCloneOfAVirtualMachine: a clone has the description of its source, and is not the machine's.
func TestCloneOfAVirtualMachine(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	s := w.open(t, classOf("", "c1"))
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	var words []string
	for _, l := range w.Instances() {
		for key, value := range l.Tags {
			if strings.HasPrefix(key, "millwright.dev/") {
				words = append(words, key+"="+value)
			}
		}
	}
	if err := w.plantNamed("clone", double.UUID(), strings.Join(words, " "), map[string]string{"AppTier": "Web"}); err != nil {
		t.Fatal(err)
	}
	if all := found(t, s, provider.Ref{UID: ref.UID, Namespace: ref.Namespace, Name: "clone"}); len(all) != 1 || all[0].ID != i.ID {
		t.Errorf("finds %+v", all)
	}
	if all := w.listed(t, s); len(all) != 1 {
		t.Errorf("lists %+v", all)
	}
	w.remove(t, s, ref, []provider.Instance{i})
	if left := w.Instances(); len(left) != 1 || left[0].Name != "clone" {
		t.Errorf("after the deletion: %+v", left)
	}
}

// TestLostReply: another process repeats a creation whose reply was lost, while no listing shows the virtual machine.
func TestLostReply(t *testing.T) {
	w, ref := newWorld(t, prism.Options{Inventory: prism.Sample(), Boot: time.Hour}), refOf("worker-1")
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "POST vms", Times: 1, Done: true})
	if _, err := w.open(t, classOf("", "c1")).Create(t.Context(), ref, want); provider.KindOf(err) != provider.Transient {
		t.Fatal(err)
	}
	s := w.open(t, with(classOf("", "c1"), `"16Gi"`, `"32Gi"`))
	if all := found(t, s, ref); len(all) != 1 || all[0].State != provider.Pending || all[0].UID != ref.UID {
		t.Errorf("finds %+v", all)
	}
	if i, err := s.Create(t.Context(), ref, want); err != nil || i.ID != w.Instances()[0].ID {
		t.Errorf("creates %+v, %v", i, err)
	}
	if n := len(w.Instances()); n != 1 {
		t.Errorf("there are %d", n)
	}
}

// TestUsedUUID: the UUID of a failed creation that has left nothing is released, and the next request gets another.
func TestUsedUUID(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	i, err := w.open(t, classOf("", "c1")).Create(t.Context(), ref, want)
	if err != nil || !w.Vanish(i.ID) {
		t.Fatal(err)
	}
	s := w.open(t, classOf("", "c1")) // another process, which does not know of the request
	if _, err := s.Create(t.Context(), ref, want); provider.KindOf(err) != provider.Conflict {
		t.Errorf("the UUID is in use: %v", err)
	}
	again, err := s.Create(t.Context(), ref, want)
	if err != nil || again.ID == i.ID || len(w.Instances()) != 1 {
		t.Errorf("creates %+v, %v", again, err)
	}
}

// TestFailedCreation: Prism Central accepts a virtual machine, and fails it. It is found with the fault, removed, and the next attempt
// creates another under another UUID.
func TestFailedCreation(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	s := w.open(t, classOf("", "c1"))
	if err := w.Do("exhaust", "cluster-a"); err != nil {
		t.Fatal(err)
	}
	first, err := s.Create(t.Context(), ref, want)
	if err != nil || first.State != provider.Pending {
		t.Fatalf("%+v, %v", first, err)
	}
	w.clock.Advance(5 * time.Second)
	for name, s := range map[string]provider.Session{"this process": s, "another process": w.open(t, classOf("", "c1"))} {
		all := found(t, s, ref)
		if len(all) != 1 || all[0].State != provider.Stopped || all[0].Fault == nil || all[0].Fault.Kind != provider.Exhausted || all[0].Fault.Scope != provider.ScopeType {
			t.Errorf("%s finds %+v", name, all)
		}
	}
	w.remove(t, s, ref, []provider.Instance{first})
	if err := w.Do("restock", "cluster-a"); err != nil {
		t.Fatal(err)
	}
	retry := want
	retry.Attempt = 1
	second, err := s.Create(t.Context(), ref, retry)
	if err != nil || second.ID == first.ID {
		t.Errorf("%+v, %v", second, err)
	}
	w.clock.Advance(5 * time.Second)
	if all := found(t, s, ref); len(all) != 1 || all[0].State != provider.Running || all[0].Fault != nil {
		t.Errorf("finds %+v", all)
	}
}

// TestFailedCreationLeavesNothing: only the task of the creation shows the reason.
func TestFailedCreationLeavesNothing(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	s := w.open(t, classOf("", "c1"))
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Do("fail", i.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(5 * time.Second)
	w.Forget(i.ID)
	all := found(t, s, ref)
	if len(all) != 1 || all[0].State != provider.Terminated || all[0].Fault == nil || all[0].Fault.Kind != provider.Exhausted {
		t.Fatalf("finds %+v", all)
	}
	if same, err := s.Create(t.Context(), ref, want); err != nil || same.State != provider.Terminated {
		t.Errorf("the same attempt creates %+v, %v", same, err)
	}
	retry := want
	retry.Attempt = 1
	if next, err := s.Create(t.Context(), ref, retry); err != nil || next.ID == i.ID || next.State != provider.Pending {
		t.Errorf("the next attempt creates %+v, %v", next, err)
	}
}

// TestIgnoredUUID: a Prism Central that ignores requested UUIDs still gets one virtual machine, which is found by name.
func TestIgnoredUUID(t *testing.T) {
	w, ref := newWorld(t, prism.Options{Inventory: prism.Sample(), Plain: true}), refOf("worker-1")
	s := w.open(t, classOf("", "c1"))
	i, err := s.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	if all := found(t, s, ref); len(all) != 1 || all[0].ID != i.ID {
		t.Errorf("while it is created: %+v", all)
	}
	w.clock.Advance(time.Minute)
	if all := found(t, s, ref); len(all) != 1 || all[0].ID != i.ID || all[0].State != provider.Running {
		t.Errorf("finds %+v", all)
	}
	if again, err := s.Create(t.Context(), ref, want); err != nil || again.ID != i.ID {
		t.Errorf("creates %+v, %v", again, err)
	}
	w.remove(t, s, ref, []provider.Instance{i})
}

// TestPagesThatMove: an entity that disappears between two pages moves the next page. The listing then fails, instead of
// skipping another entity.
func TestPagesThatMove(t *testing.T) {
	w := newWorld(t, prism.Options{Inventory: inventory(), PageSize: pageSize})
	class := classOf("", "c1")
	for n := range 3 * pageSize {
		if err := w.plant(class, provider.Instance{Name: fmt.Sprintf("m-%02d", n), UID: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	s := w.open(t, class)
	if all := w.listed(t, s); len(all) != 3*pageSize {
		t.Errorf("lists %d", len(all))
	}
	n := 0
	var failed error
	for i, err := range s.List(t.Context()) {
		if failed = err; err != nil {
			break
		}
		if n++; n == pageSize-1 && !w.Vanish(i.ID) {
			t.Fatal("nothing vanishes")
		}
	}
	if provider.KindOf(failed) != provider.Transient || !strings.Contains(failed.Error(), "between two pages") {
		t.Errorf("after %d: %v", n, failed)
	}
}

func TestIdentity(t *testing.T) {
	const uuid = "0005f1a0-0000-4000-8000-0000000000ab"
	identify := provider.Identifier(sample(t).open(t, classOf("", "c1")))
	for id, want := range map[string]string{
		"nutanix://" + uuid: "nutanix://" + uuid, "Nutanix:///" + strings.ToUpper(uuid): "nutanix://" + uuid, "": "", uuid: "", "nutanix://": "", "vsphere://" + uuid: "",
		"nutanix://" + uuid + "/x": "", "nutanix:" + uuid: "",
	} {
		if got := identify(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}
