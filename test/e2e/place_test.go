package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	processes "github.com/millwright-dev/millwright/internal/runtime/run"
)

// place is a separate cluster without any CRD. The programs have the rights that users give to the programs of an original.
type place struct {
	client.Client
	kubeconfig string
}

// placeOf starts the cluster of an original, whose programs are a user with the roles of a file.
func placeOf(t *testing.T, user, roles, namespace string) place {
	t.Helper()
	p, plane := bare(t)
	p.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	p.grant(t, user, roles, namespace)
	raw, err := plane.Kubeconfig(user)
	if err == nil {
		err = os.WriteFile(p.kubeconfig, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bare returns a place with the kubeconfig of the administrator.
func bare(t *testing.T) (place, *devplane.ControlPlane) {
	t.Helper()
	assets, err := devplane.Ensure(t.Context(), devplane.BuildOptions{Progress: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	plane, err := devplane.Start(t.Context(), devplane.Options{Dir: filepath.Join(t.TempDir(), "plane"), Assets: assets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = devplane.Clean(context.Background(), plane.Dir) })
	admin, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	scheme := processes.Scheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	p := place{kubeconfig: plane.KubeconfigPath}
	if p.Client, err = client.New(admin, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return p, plane
}

// original is the user with the roles of an original, which are in testdata/originals.
const original = "original"

// grant creates the namespace, and gives the roles to the user.
func (p place) grant(t *testing.T, user, roles, namespace string) {
	t.Helper()
	p.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	raw, err := os.ReadFile(filepath.FromSlash(roles))
	if err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		var role unstructured.Unstructured
		if err := decoder.Decode(&role.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		meta := metav1.ObjectMeta{Name: role.GetName(), Namespace: role.GetNamespace()}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.GetKind(), Name: role.GetName()}
		var binding client.Object = &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
		if meta.Namespace != "" {
			binding = &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
		}
		p.create(t, &role)
		p.create(t, binding)
	}
}

func (p place) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := p.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// install installs the kinds of one group as in the original, without our additions.
func (p place) install(t *testing.T, group string, ours ...string) {
	t.Helper()
	all, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range all {
		if crd.Spec.Group != group || slices.Contains(ours, crd.Spec.Names.Kind) {
			continue
		}
		crd.Spec.Names.Categories = nil
		if group == "machine.sapcloud.io" {
			pruneSelector(crd)
		}
		p.create(t, crd)
	}
}

// pruneSelector removes status.labelSelector, which the CRDs of machine-controller-manager do not have.
func pruneSelector(crd *apiextensionsv1.CustomResourceDefinition) {
	v := &crd.Spec.Versions[0]
	delete(v.Schema.OpenAPIV3Schema.Properties["status"].Properties, "labelSelector")
	if v.Subresources != nil && v.Subresources.Scale != nil {
		v.Subresources.Scale.LabelSelectorPath = nil
	}
}

// started is a program of ours with the name of an original's program.
type started struct {
	*exec.Cmd
	name, health, log string
	done              chan error
}

// start starts a program of ours with the name and command line of the original's program.
func (p place) start(t *testing.T, program, name, health string, args ...string) *started {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(filepath.Join(bin, program), path); err != nil {
		t.Fatal(err)
	}
	s := &started{Cmd: exec.Command(path, args...), name: name, health: health, log: path + ".log", done: make(chan error, 1)}
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	s.Stdout, s.Stderr = log, log
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.Wait() }()
	t.Cleanup(func() {
		_ = s.Process.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", name, s.said(t))
		}
	})
	return s
}

// said returns the log of the program.
func (s *started) said(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(s.log)
	if err != nil {
		t.Error(err)
	}
	return string(raw)
}

// answers waits until a path answers with the code, and returns the body.
func (s *started) answers(t *testing.T, path string, code int) (body string) {
	t.Helper()
	eventually(t, s.name+" answers "+path, func(ctx context.Context) (string, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.health+path, nil)
		if err != nil {
			return "", err
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if body = string(raw); err == nil && res.StatusCode != code {
			return res.Status + ": " + body, nil
		}
		return "", err
	})
	return body
}

// ends stops the program. It must end with exit code 0 and without an error in its log.
func (s *started) ends(t *testing.T) {
	t.Helper()
	_ = s.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("%s ended with %v", s.name, err)
		}
	case <-time.After(time.Minute):
		t.Errorf("%s does not end", s.name)
	}
	for line := range strings.Lines(s.said(t)) {
		// client-go logs this if the process receives the signal during a request for the lease.
		cutShort := strings.Contains(line, "lease lock") && strings.Contains(line, "context canceled")
		if strings.HasPrefix(line, "E") && !cutShort {
			t.Errorf("%s logs an error: %s", s.name, line)
		}
	}
}

// rests fails if an object of the kinds is written within the time, after the objects were unchanged for a while.
func (p place) rests(t *testing.T, within time.Duration, kinds ...schema.GroupVersionKind) {
	t.Helper()
	before := ""
	eventually(t, "rest", func(context.Context) (string, error) {
		last := before
		time.Sleep(3 * time.Second)
		if before = p.versions(t, kinds); before != last {
			return before, nil
		}
		return "", nil
	})
	time.Sleep(within)
	if after := p.versions(t, kinds); after != before {
		t.Errorf("objects are written at rest:\n%s\n%s", before, after)
	}
}

func (p place) versions(t *testing.T, kinds []schema.GroupVersionKind) string {
	t.Helper()
	var out []string
	for _, kind := range kinds {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(kind)
		if err := p.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out = append(out, fmt.Sprint(kind.Kind, " ", o.Name, " ", o.ResourceVersion))
		}
	}
	return strings.Join(out, "\n")
}

// leads waits until a lease has a holder.
func (p place) leads(t *testing.T, namespace, lease string) {
	t.Helper()
	eventually(t, lease, func(ctx context.Context) (string, error) {
		var l coordinationv1.Lease
		if err := p.Get(ctx, client.ObjectKey{Namespace: namespace, Name: lease}, &l); err != nil {
			return "", err
		}
		if ptr.Deref(l.Spec.HolderIdentity, "") == "" {
			return "it has no holder", nil
		}
		return "", nil
	})
}
