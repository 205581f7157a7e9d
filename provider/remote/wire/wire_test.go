package wire_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGenerated: the Go code matches provider.proto.
func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./internal/generate", "-out", dir)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"provider.pb.go", "provider_grpc.pb.go"} {
		want, err := os.ReadFile(filepath.Join(dir, "wire", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what provider.proto makes (error %v): go generate ./wire in provider/remote", name, err)
		}
	}
}
