package mutants

import (
	"maps"
	"path/filepath"
	"testing"
)

const kindsOfTests = `package expect

func TestMain(m *testing.M) { os.Exit(devplanetest.Main(m)) }

func TestPlain(t *testing.T) { compare(t) }

func TestLaw(t *testing.T) { rapid.Check(t, law) }

func TestFarLaw(t *testing.T) { compare(t); holds(t) }

func TestServer(t *testing.T) { world(t) }

func TestHandedOn(t *testing.T) { both(t, story[int]) }

func TestNamesake(t *testing.T) {
	world, limit := compare, 3
	world(t, limit, scene{}.holds)
}

func both(t *testing.T, do func(*testing.T)) { do(t) }

func story[T any](t *testing.T) { world(t) }

func holds(t *testing.T) { t.Run("", func(t *testing.T) { rapid.Check(t, law) }) }

func compare(t *testing.T) {}

func world(t *testing.T) { holds(t); devplanetest.Start(t) }
`

// TestKinds: the kind of a test depends on the packages that it calls; a control plane outweighs a property.
func TestKinds(t *testing.T) {
	dir := moduleOf(t, map[string]string{"internal/controller/expectations/a_test.go": kindsOfTests})
	got, err := testsOf(filepath.Join(dir, "internal", "controller", "expectations"))
	want := tests{"TestPlain": unitTest, "TestLaw": property, "TestFarLaw": property, "TestServer": boxed, "TestHandedOn": boxed, "TestNamesake": unitTest}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}
