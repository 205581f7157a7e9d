package older_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/gardener"
	"github.com/millwright-dev/millwright/adapters/gardener/test/older"
	"github.com/millwright-dev/millwright/provider"
)

// TestAnOlderDriverLives: a machine of a driver without InitializeMachine is created, found, complete, and
// deleted.
func TestAnOlderDriverLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := gardener.New(t.Context(), gardener.Config{Name: "shelf", Driver: older.NewShelf(), Clock: clock.RealClock{}})
		s, err := p.Open(t.Context(), provider.Class{API: provider.Gardener, Cluster: "blue", Spec: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		r := provider.Ref{UID: "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11", Namespace: "machines", Name: "m"}
		var made provider.Instance
		for end := time.Now().Add(time.Hour); made.ProviderID == "" && time.Now().Before(end); time.Sleep(5 * time.Second) {
			if made, err = s.Create(t.Context(), r, provider.Want{}); err != nil {
				t.Fatal(err)
			}
		}
		r.ProviderID = made.ProviderID
		all, err := s.Find(t.Context(), r)
		if err != nil || len(all) != 1 || all[0].ProviderID != "shelf:///m" || all[0].NodeName != "m" || all[0].Uninitialized || all[0].State != provider.Running {
			t.Fatalf("what is found is %+v, error %v", all, err)
		}
		if done, err := s.Delete(t.Context(), r, all); !done || err != nil {
			t.Errorf("it is removed: %t, error %v", done, err)
		}
		if all, err := s.Find(t.Context(), r); err != nil || len(all) > 0 {
			t.Errorf("then what is found is %+v, error %v", all, err)
		}
	})
}
