package gardener_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/provider"
)

// TestDuplicatesAreSeenAndGoOneByOne: the code OutOfRange, after which the original deletes instances at
// once, without a check.
func TestDuplicatesAreSeenAndGoOneByOne(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.plant("blue", "m")
		b.plant("blue", "m")
		s := b.open(b.start())
		found := b.find(s, ref("m"))
		if got := shape(found); got != "m Running unclaimed, m Running unclaimed" || found[0].ID == found[1].ID {
			b.t.Fatalf("find reports %q", got)
		}
		b.removed(s, provider.Ref{}, found[:1])
		if ids := b.servers("blue")["m"]; len(ids) != 1 || !strings.HasSuffix(found[1].ProviderID, ids[0]) {
			b.t.Errorf("of %v, %v is left", found, ids)
		}
	})
}

// TestTheEndOfOneIsNotThatOfAnother: the outcome of a deletion for which no caller waited is not used for the
// next deletion of that name.
func TestTheEndOfOneIsNotThatOfAnother(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		b.plant("blue", "m")
		b.plant("blue", "m")
		s := b.open(b.start())
		found := b.find(s, ref("m"))
		if done, err := s.Delete(b.t.Context(), provider.Ref{}, found[:1]); done || err != nil {
			b.t.Fatalf("delete: done %t, error %v", done, err)
		}
		time.Sleep(2 * boot)
		b.removed(s, provider.Ref{}, found[1:])
		b.holds(0)
	})
}

// TestWithoutStatusAndListing: with a driver that can only create and delete, the recorded instance counts as
// existing until its deletion.
func TestWithoutStatusAndListing(t *testing.T) {
	inBubble(t, reference.Habits{NoStatus: true, NoListing: true}, func(b *bench) {
		s := b.open(b.start())
		if all := b.find(s, ref("m")); len(all) > 0 {
			b.t.Fatalf("before anything was made, find reports %v", all)
		}
		if _, _, err := b.create(s, ref("m")); err != nil {
			b.t.Fatal(err)
		}
		time.Sleep(2 * boot)
		recorded := ref("m")
		recorded.ProviderID = b.find(s, recorded)[0].ProviderID
		s = b.open(b.start())
		if got := shape(b.find(s, recorded)); got != "m Running unclaimed" {
			b.t.Errorf("a fresh process finds %q", got)
		}
		for _, err := range s.List(b.t.Context()) {
			if provider.KindOf(err) != provider.Denied {
				b.t.Errorf("a listing says %v", err)
			}
		}
		b.removed(s, recorded, b.find(s, recorded))
		b.holds(0)
	})
}

// TestInitializationIsTriedAgain: also if the driver's status does not report the failure.
func TestInitializationIsTriedAgain(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		tries := 0
		b.driver = &stub{
			status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
				if tries == 0 {
					return nil, status.Error(codes.NotFound, "")
				}
				return &driver.GetMachineStatusResponse{ProviderID: "x:///1", NodeName: "m"}, nil
			},
			create: func(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
				return &driver.CreateMachineResponse{ProviderID: "x:///1", NodeName: "m"}, nil
			},
			finish: func(context.Context, *driver.InitializeMachineRequest) (*driver.InitializeMachineResponse, error) {
				if tries++; tries == 1 {
					return nil, status.Error(codes.Uninitialized, "the port is not there")
				}
				time.Sleep(time.Minute)
				return nil, nil
			},
		}
		s := b.open(b.start())
		if _, _, err := b.create(s, ref("m")); provider.KindOf(err) != provider.Transient {
			b.t.Fatalf("create says %v", err)
		}
		found := b.find(s, ref("m"))
		if got := shape(found); got != "m Running uninitialized" {
			b.t.Fatalf("find reports %q", got)
		}
		if err := s.(provider.Initializer).Initialize(b.t.Context(), ref("m"), found[0]); err != nil {
			b.t.Fatal(err)
		}
		if got := shape(b.find(s, ref("m"))); got != "m Pending" {
			b.t.Errorf("while it is initialized, find reports %q", got)
		}
		time.Sleep(2 * time.Minute)
		if got := shape(b.find(s, ref("m"))); got != "m Running" || tries != 2 {
			b.t.Errorf("after %d tries find reports %q", tries, got)
		}
	})
}

// TestADriverIsGivenTheObjects: the whole Machine and MachineClass, if they exist, as copies.
func TestADriverIsGivenTheObjects(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		var seen *driver.CreateMachineRequest
		b.driver = &stub{
			status: func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
				return nil, status.Error(codes.NotFound, "")
			},
			create: func(_ context.Context, r *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
				seen = &driver.CreateMachineRequest{Machine: r.Machine.DeepCopy(), MachineClass: r.MachineClass.DeepCopy(), Secret: r.Secret.DeepCopy()}
				r.MachineClass.ProviderSpec.Raw[0], r.Secret.Data["password"][0] = 'X', 'X'
				return nil, status.Error(codes.InvalidArgument, "no")
			},
		}
		s, m := b.open(b.start()), ref("m")
		b.objects[provider.ObjectRef{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "Machine", Namespace: "machines", Name: "m"}] = map[string]any{
			"metadata": map[string]any{"name": "m", "namespace": "machines", "uid": m.UID, "labels": map[string]string{"pool": "a"}},
		}
		for _, labelled := range []bool{true, false} {
			if _, _, err := b.create(s, m); provider.KindOf(err) != provider.Invalid {
				b.t.Fatalf("create says %v", err)
			}
			switch class := seen.MachineClass; {
			case seen.Machine.Name != m.Name || string(seen.Machine.UID) != m.UID || (seen.Machine.Labels["pool"] == "a") != labelled:
				b.t.Errorf("the machine is %+v", seen.Machine.ObjectMeta)
			case class.Provider != "OpenStack" || class.Name != "small" || !strings.HasPrefix(string(class.ProviderSpec.Raw), `{"apiVersion"`):
				b.t.Errorf("the class is %+v", class)
			case string(seen.Secret.Data["userData"]) != string(want.UserData) || string(seen.Secret.Data["password"]) != "secret":
				b.t.Errorf("the secret has %q", seen.Secret.Data)
			}
			m.UID = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11" // created again under the same name; the object that is read is the former one's
		}
	})
}

// TestWhoseIsWhatTheDriverLists: only a user can state that no other control plane uses the tags.
func TestWhoseIsWhatTheDriverLists(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		inBubble(t, reference.Habits{}, func(b *bench) {
			b.settings.Exclusive = exclusive
			b.plant("blue", "orphan")
			c := class(provider.Gardener, "blue")
			c.Owner = "me"
			s, err := b.start().Open(b.t.Context(), c)
			if err != nil {
				b.t.Fatal(err)
			}
			for i, err := range s.List(b.t.Context()) {
				if err != nil || (i.Owner == "me") != exclusive || (i.Namespace == "machines") != exclusive {
					b.t.Errorf("exclusive %t: owner %q, namespace %q, error %v", exclusive, i.Owner, i.Namespace, err)
				}
			}
		})
	}
}

// TestVolumesAreNamed: the driver returns the names of volumes.
func TestVolumesAreNamed(t *testing.T) {
	inBubble(t, reference.Habits{}, func(b *bench) {
		p := b.start()
		ids, err := p.VolumeIDs(b.t.Context(), &corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v-1"},
		}})
		if err != nil || len(ids) != 1 || ids[0] != "v-1" {
			b.t.Errorf("a volume of Cinder is %v, error %v", ids, err)
		}
		if ids, err := p.VolumeIDs(b.t.Context(), &corev1.PersistentVolumeSpec{}); err != nil || len(ids) > 0 {
			b.t.Errorf("any other is %v, error %v", ids, err)
		}
	})
}
