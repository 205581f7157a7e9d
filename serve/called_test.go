package serve

import "testing"

// TestCalled: the image of a provider has the termination handler under that name.
func TestCalled(t *testing.T) {
	for name, want := range map[string]string{
		"/machine-controller-manager": "machine-controller-cloud", "machine-controller": "machine-controller-cloud", "/termination-handler": "termination-handler",
	} {
		if got := called(name, Plugin{Name: "cloud"}).Name(); got != want {
			t.Errorf("the name %s selects the program %s, want %s", name, got, want)
		}
	}
}
