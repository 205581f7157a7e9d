package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestPlugin: krew finds each archive of the kubectl plugin by its address and checksum. test/release has krew install it.
func TestPlugin(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	out := made(t)
	var p plugin
	if err := yaml.UnmarshalStrict(content(t, out, pluginFile), &p); err != nil {
		t.Fatal(err)
	}
	if p.Metadata.Name != "machine" || p.Spec.Version != "v1.2.3-rc.1" || len(p.Spec.Platforms) != 2 {
		t.Errorf("%+v", p)
	}
	for i, want := range []struct{ system, arch, archive, bin string }{
		{"linux", "arm64", "kubectl-machine_v1.2.3-rc.1_linux_arm64.tar.gz", "kubectl-machine"},
		{"windows", "amd64", "kubectl-machine_v1.2.3-rc.1_windows_amd64.zip", "kubectl-machine.exe"},
	} {
		got := p.Spec.Platforms[i]
		if got.Selector.MatchLabels["os"] != want.system || got.Selector.MatchLabels["arch"] != want.arch || got.Bin != want.bin {
			t.Errorf("%+v, want %+v", got, want)
		}
		if uri := "https://m.example/download/v1.2.3-rc.1/" + want.archive; got.URI != uri {
			t.Errorf("the archive is at %s, want %s", got.URI, uri)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(content(t, out, want.archive))); got.SHA256 != sum {
			t.Errorf("the checksum of %s is %s, want %s", want.archive, got.SHA256, sum)
		}
	}
}
