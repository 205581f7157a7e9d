package machineclass

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

const ns = "shoot--a--b"

// cluster is a fake API server that counts writes and notes the patches.
type cluster struct {
	client.Client
	patches []string
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{}
	c.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1alpha1.Machine{}, ClassIndex, ClassOf).WithIndex(&v1alpha1.MachineClass{}, SecretIndex, SecretsOf).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				raw, err := p.Data(o)
				c.patches = append(c.patches, string(raw))
				if err != nil {
					return err
				}
				return w.Patch(ctx, o, p, opts...)
			},
			Get: func(ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				if _, full := o.(*corev1.Secret); full {
					t.Error("the data of a secret was read")
				}
				return w.Get(ctx, key, o, opts...)
			},
		}).Build()
	return c
}

func class(name string, finalizers ...string) *v1alpha1.MachineClass {
	return &v1alpha1.MachineClass{
		ObjectMeta:   metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: finalizers},
		ProviderSpec: runtime.RawExtension{Raw: []byte(`{}`)},
	}
}

func naming(c *v1alpha1.MachineClass, secret, credentials *corev1.SecretReference) *v1alpha1.MachineClass {
	c.SecretRef, c.CredentialsSecretRef = secret, credentials
	return c
}

func machine(namespace, name, kind, class string) *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: kind, Name: class}
	return m
}

func secret(name string, finalizers ...string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: finalizers}}
}

func deleted[O client.Object](o O) O {
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
	return o
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}}
}

const (
	held   = "machine.sapcloud.io/machine-controller-manager"
	guard  = "machine.sapcloud.io/machine-controller"
	others = "example.com/theirs"
)

// twice reconciles and checks that the second time writes nothing.
func (c *cluster) twice(t *testing.T, r reconcile.Reconciler, name string) reconcile.Result {
	t.Helper()
	var res reconcile.Result
	for i := range 2 {
		before := len(c.patches)
		var err error
		if res, err = r.Reconcile(t.Context(), request(name)); err != nil {
			t.Fatal(err)
		}
		if i == 1 && len(c.patches) != before {
			t.Errorf("at rest it still writes: %s", c.patches[before])
		}
	}
	return res
}

// finalizers are those of the object; nil if it does not exist.
func (c *cluster) finalizers(t *testing.T, kind, name string) []string {
	t.Helper()
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	if kind == "Secret" {
		o = metadata()
	}
	err := c.Client.Get(t.Context(), request(name).NamespacedName, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{}, o.GetFinalizers()...)
}

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		class        *v1alpha1.MachineClass
		machines     []client.Object
		want         []string
		writes       int
	}{
		{
			"first machine", "a class that is used is held, other finalizers stay", class("pool", others),
			[]client.Object{machine(ns, "m", "MachineClass", "pool")},
			[]string{others, held},
			1,
		},
		{"still used", "nothing to write", class("pool", held), []client.Object{machine(ns, "m", "MachineClass", "pool")}, []string{held}, 0},
		{"last machine gone", "let go, also when it is wanted still", class("pool", held, others), nil, []string{others}, 1},
		{"never used", "nothing to write", class("pool"), nil, []string{}, 0},
		{"another kind", "only the kind MachineClass is a reference", class("pool"), []client.Object{machine(ns, "m", "AWSMachineClass", "pool")}, []string{}, 0},
		{"another namespace", "a class is used within its namespace", class("pool"), []client.Object{machine("other", "m", "MachineClass", "pool")}, []string{}, 0},
		{"deleted, used", "its last machine needs it to go", deleted(class("pool", held)), []client.Object{machine(ns, "m", "MachineClass", "pool")}, []string{held}, 0},
		{"deleted, unused", "it goes", deleted(class("pool", held)), nil, nil, 1},
		{"deleted, not held", "the API server refuses new finalizers", deleted(class("pool", others)), []client.Object{machine(ns, "m", "MachineClass", "pool")}, []string{others}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newCluster(t, append(c.machines, c.class)...)
			k.twice(t, &Classes{Client: k, Live: k}, "pool")
			if d := cmp.Diff(c.want, k.finalizers(t, "MachineClass", "pool")); d != "" || len(k.patches) != c.writes {
				t.Errorf("%s: %d writes, want %d; finalizers (-want +got)\n%s", c.reason, len(k.patches), c.writes, d)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	ref := func(namespace, name string) *corev1.SecretReference {
		return &corev1.SecretReference{Namespace: namespace, Name: name}
	}
	for _, c := range []struct {
		name, reason string
		classes      []client.Object
		secret       *corev1.Secret
		want         []string
		writes       int
	}{
		{"user data", "named by secretRef", []client.Object{naming(class("a"), ref(ns, "s"), nil)}, secret("s", others), []string{others, guard}, 1},
		{"credentials", "named by credentialsSecretRef, without a namespace", []client.Object{naming(class("a"), nil, ref("", "s"))}, secret("s"), []string{guard}, 1},
		{"both", "two references are as one", []client.Object{naming(class("a"), ref(ns, "s"), ref(ns, "s"))}, secret("s"), []string{guard}, 1},
		{"two classes", "held while one of them names it", []client.Object{naming(class("a"), ref(ns, "s"), nil), class("b")}, secret("s", guard), []string{guard}, 0},
		{"dropped", "let go", []client.Object{class("a")}, secret("s", guard, others), []string{others}, 1},
		{"never named", "secrets of others are left alone", []client.Object{class("a")}, secret("s"), []string{}, 0},
		{"named elsewhere", "a reference into another namespace does not hold the one of the same name here", []client.Object{naming(class("a"), ref("garden", "s"), nil)}, secret("s", guard), []string{}, 1},
		{"deleted, named", "held until no class names it", []client.Object{naming(class("a"), ref(ns, "s"), nil)}, deleted(secret("s", guard)), []string{guard}, 0},
		{"deleted, not named", "it goes", nil, deleted(secret("s", guard)), nil, 1},
		{"class deleted, still there", "its machines still need the credentials", []client.Object{deleted(naming(class("a", held), ref(ns, "s"), nil))}, secret("s", guard), []string{guard}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newCluster(t, append(c.classes, c.secret)...)
			k.twice(t, &Secrets{Client: k, Live: k}, "s")
			if d := cmp.Diff(c.want, k.finalizers(t, "Secret", "s")); d != "" || len(k.patches) != c.writes {
				t.Errorf("%s: %d writes, want %d; finalizers (-want +got)\n%s", c.reason, len(k.patches), c.writes, d)
			}
		})
	}
}

// TestAbsentSecret: secrets are not watched, so a missing secret is read again; one that no class names is
// not.
func TestAbsentSecret(t *testing.T) {
	k := newCluster(t, naming(class("a"), &corev1.SecretReference{Name: "s"}, nil))
	r := &Secrets{Client: k, Live: k}
	if res := k.twice(t, r, "s"); res.RequeueAfter != absentDelay {
		t.Errorf("a secret that is named and missing is looked for after %v, want %v", res.RequeueAfter, absentDelay)
	}
	if res := k.twice(t, r, "other"); res.RequeueAfter != 0 {
		t.Errorf("a secret that nobody names is looked for after %v", res.RequeueAfter)
	}
}

// TestLock: a patch writes the whole list of finalizers, so it must fail if another client wrote in
// between.
func TestLock(t *testing.T) {
	k := newCluster(t, class("pool", others), secret("s", others))
	for _, o := range []client.Object{class("pool", others), secret("s", others)} {
		o.SetResourceVersion("1") // older than what the fake assigns
		err := hold{finalizer: held, wanted: true}.apply(t.Context(), k, o)
		if !apierrors.IsConflict(err) {
			t.Errorf("%T: a change on a stale object came to %v, want a conflict", o, err)
		}
	}
}

func TestHeld(t *testing.T) {
	elsewhere := secret("c", guard)
	elsewhere.Namespace = "other"
	k := newCluster(t, secret("a", guard), secret("b", others), elsewhere)
	got, err := (&Secrets{Client: k, Live: k}).WithFinalizer(t.Context(), ns)
	if want := []types.NamespacedName{{Namespace: ns, Name: "a"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Held = %v, %v, want %v", got, err, want)
	}
	if all, _ := (&Secrets{Client: k, Live: k}).WithFinalizer(t.Context(), ""); len(all) != 2 {
		t.Errorf("of all namespaces %d are held, want 2", len(all))
	}
}

func TestMachinesOfClass(t *testing.T) {
	k := newCluster(t,
		machine(ns, "a", "MachineClass", "pool"), deleted(withFinalizer(machine(ns, "b", "MachineClass", "pool"))),
		machine(ns, "c", "MachineClass", "other"), machine("other", "d", "MachineClass", "pool"))
	got := MachinesOfClass(t.Context(), k, request("pool").NamespacedName)
	if want := []reconcile.Request{request("a"), request("b")}; !slices.Equal(got, want) {
		t.Errorf("machines of the class: %v, want %v, the one on its way out included", got, want)
	}
}

func withFinalizer(m *v1alpha1.Machine) *v1alpha1.Machine { m.Finalizers = []string{held}; return m }

// TestClassOfANewMachineStays: the cache does not show yet the machine that was made
// just now, or cannot be asked past.
func TestClassOfANewMachineStays(t *testing.T) {
	deleting := deleted(class("pool", held))
	live := newCluster(t, deleting.DeepCopy(), machine(ns, "m-1", "MachineClass", "pool"), machine(ns, "m-2", "MachineClass", "other"))
	cached := newCluster(t, deleting)
	r := &Classes{Client: cached, Live: live}
	if _, err := r.Reconcile(t.Context(), request("pool")); err != nil || len(cached.patches) > 0 {
		t.Errorf("the class is let go: %s (%v)", cached.patches, err)
	}
	if err := live.Delete(t.Context(), machine(ns, "m-1", "MachineClass", "pool")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), request("pool")); err != nil || len(cached.patches) != 1 {
		t.Errorf("the class is held although its last machine is gone: %s (%v)", cached.patches, err)
	}
}

// TestSecretOfANewClassStays: the cache does not show yet the class that names it.
func TestSecretOfANewClassStays(t *testing.T) {
	k := newCluster(t, secret("s", guard))
	a := naming(class("a"), nil, &corev1.SecretReference{Name: "s"})
	live := newCluster(t, secret("s", guard), a, class("b"))
	r := &Secrets{Client: k, Live: live}
	if _, err := r.Reconcile(t.Context(), request("s")); err != nil || len(k.patches) > 0 {
		t.Errorf("the secret is let go: %s (%v)", k.patches, err)
	}
	if err := live.Delete(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), request("s")); err != nil || len(k.patches) != 1 {
		t.Errorf("the secret is held although its last class is gone: %s (%v)", k.patches, err)
	}
}
