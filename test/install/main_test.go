package install

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/verify/previous"
)

// Environment variables that the process outside of the namespaces sets for the tests inside.
const (
	// workEnv names a folder that is removed at the end.
	workEnv = "MILLWRIGHT_INSTALL_WORK"
	// runtimeEnv names the folder of containerd, runc and the network plugins.
	runtimeEnv = "MILLWRIGHT_INSTALL_RUNTIME"
)

var previousCommit = flag.String("install.previous", "HEAD~1", "commit whose image and manifests are upgraded from")

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(workEnv) != "" {
		os.Exit(inside(m))
	}
	code, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/install:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// outside builds everything that needs the network, and runs these tests again in new namespaces. When their first process
// ends, all their processes and mounts end, too.
func outside() (int, error) {
	if os.Geteuid() != 0 {
		return 1, fmt.Errorf("containers and namespaces need root, and this is user %d: run `make test-install` as root", os.Geteuid())
	}
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		return 1, err
	}
	if _, err := devplane.Ensure(context.Background(), devplane.BuildOptions{Programs: devplane.Programs(), Progress: os.Stderr}); err != nil {
		return 1, err
	}
	runtime, err := output(root, "hack/node")
	if err != nil {
		return 1, err
	}
	work, err := os.MkdirTemp("", "millwright-install-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.Chmod(work, 0o755); err != nil { // programs in containers are not root
		return 1, err
	}
	if err := runc(root, filepath.Join(work, "bin"), runtime); err != nil {
		return 1, err
	}
	if err := helm(root, filepath.Join(work, "bin")); err != nil {
		return 1, err
	}
	if err := images(root, work); err != nil {
		return 1, err
	}
	defer removeGroups(filepath.Base(work))
	if err := makeGroups(filepath.Base(work)); err != nil {
		return 1, err
	}
	return again(append(os.Environ(), workEnv+"="+work, runtimeEnv+"="+runtime))
}

// images builds the images of the node: the pause container, the proxy, the provider for the operator, and the programs of the
// previous and the present commit.
func images(root, work string) error {
	proxy, err := output(root, "hack/tool", proxyName)
	if err != nil {
		return err
	}
	if err := os.Symlink(proxy, filepath.Join(work, "bin", proxyName)); err != nil {
		return err
	}
	older := filepath.Join(work, "previous")
	if err := checkOut(root, older); err != nil {
		return err
	}
	if err := packages(root, older, work); err != nil {
		return err
	}
	for _, image := range []struct {
		root string
		args []string
	}{
		{root, []string{"-program", "./test/install/pause", "-registry", "millwright.invalid"}},
		{root, []string{"-binary", proxy, "-registry", "millwright.invalid"}},
		{root, []string{"-program", "./test/install/kubemark-machine-controllers", "-registry", "docker.io/gofed", "-version", "v1.0"}},
		{older, []string{"-version", "previous"}},
		{root, nil},
	} {
		out := filepath.Join(work, "images", filepath.Base(image.root))
		if _, err := output(image.root, "go", append([]string{"run", "./hack/image", "-arch", arch, "-out", out}, image.args...)...); err != nil {
			return err
		}
	}
	return small(filepath.Join(work, "images"))
}

// packages builds the installed manifests of this commit as the documents say, and those of the previous commit, which may not
// have packages.
func packages(root, older, work string) error {
	if _, err := output(root, "go", "run", "./hack/packages", "-out", "dist/packages"); err != nil {
		return err
	}
	file := filepath.Join(older, "deploy", "millwright.yaml")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		if _, err := output(older, "go", "run", "./hack/packages", "-out", filepath.Join(work, "packages")); err != nil {
			return err
		}
		file = filepath.Join(work, "packages", "millwright.yaml")
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(work, "previous.yaml"), content, 0o644)
}

// small fails if an image is larger than the limit.
func small(dir string) error {
	images, err := filepath.Glob(filepath.Join(dir, "*", "*.oci.tar"))
	if err != nil || len(images) == 0 {
		return fmt.Errorf("%s has no images: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	for _, name := range images {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		if info.Size() > maxImage {
			return fmt.Errorf("%s has %d bytes, and images may have %d", name, info.Size(), maxImage)
		}
	}
	return nil
}

// maxImage limits a compressed image of one architecture, in bytes.
const maxImage = 60 << 20

// checkOut writes the sources of the commit to upgrade from. If the clone does not have it, these are the present sources.
func checkOut(root, into string) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	missing, err := previous.CheckOut(context.Background(), root, *previousCommit, into)
	if missing == "" || err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "test/install: %s: these programs are upgraded to themselves\n", missing)
	if err := os.Remove(into); err != nil {
		return err
	}
	return os.Symlink(root, into)
}

// runc installs the program that runs containers into a folder.
func runc(root, bin, runtime string) error {
	if _, err := output(root, "go", "build", "-o", bin+"/runc", "./test/install/runc"); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(runtime, "runc"), filepath.Join(bin, "plain-runc"))
}

// helm installs Helm into a folder.
func helm(root, bin string) error {
	path, err := output(root, "hack/tool", "helm")
	if err != nil {
		return err
	}
	return os.Symlink(path, filepath.Join(bin, "helm"))
}

// again runs this program in new namespaces.
func again(env []string) (int, error) {
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	c.Env, c.Stdout, c.Stderr = env, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	err := c.Run()
	if c.ProcessState == nil {
		return 1, fmt.Errorf("begin in namespaces of its own: %w", err)
	}
	return max(c.ProcessState.ExitCode(), 0), err
}

func output(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	if strings.Contains(name, "/") {
		c.Path = filepath.Join(dir, name)
	}
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}
