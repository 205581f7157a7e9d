package quickstart

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// host is the computer of a user: the programs, and a folder for clusters and the kubeconfig.
var host struct {
	root, work string
	box        devplane.Assets
	env        []string
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := withHost(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/quickstart:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func withHost(m *testing.M) (int, error) {
	var err error
	if host.root, err = devplanetest.RepositoryRoot(); err != nil {
		return 1, err
	}
	if host.box, err = devplane.Ensure(context.Background(), devplane.BuildOptions{Programs: devplane.Programs(), Progress: os.Stderr}); err != nil {
		return 1, err
	}
	if host.work, err = os.MkdirTemp("", "millwright-quickstart-"); err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(host.work) }()
	if err := install(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// install puts the programs into a folder of the PATH, and tells kwokctl the paths of the control plane's programs, so that it
// downloads none.
func install() error {
	bin := filepath.Join(host.work, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	host.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+filepath.Join(host.work, "kubeconfig"), "KWOK_WORKDIR="+filepath.Join(host.work, "kwok"))
	for _, name := range []string{"kwok", "kwokctl"} {
		c := exec.Command("hack/tool", name)
		c.Dir, c.Stderr = host.root, os.Stderr
		path, err := c.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.Symlink(strings.TrimSpace(string(path)), filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	kubectl, err := host.box.Path(devplane.Kubectl)
	if err != nil {
		return err
	}
	assets := cmp.Or(os.Getenv("MILLWRIGHT_QUICKSTART_ASSETS"), filepath.Dir(kubectl))
	host.env = append(host.env, "KWOK_CONTROLLER_BINARY="+filepath.Join(bin, "kwok"), "KWOK_KUBECTL_BINARY="+kubectl)
	for variable, program := range map[string]string{
		"ETCD": "etcd", "KUBE_APISERVER": "kube-apiserver", "KUBE_CONTROLLER_MANAGER": "kube-controller-manager", "KUBE_SCHEDULER": "kube-scheduler",
	} {
		host.env = append(host.env, "KWOK_"+variable+"_BINARY="+filepath.Join(assets, program))
	}
	// On loopback only.
	config := "apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: KwokctlConfiguration\noptions:\n  bindAddress: 127.0.0.1\n"
	return errors.Join(os.Symlink(kubectl, filepath.Join(bin, "kubectl")), os.MkdirAll(filepath.Join(host.work, "kwok"), 0o755),
		os.WriteFile(filepath.Join(host.work, "kwok", "kwok.yaml"), []byte(config), 0o600))
}
