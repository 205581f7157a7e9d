package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// identities has the identities of the control plane that has the machines, or of one namespace in this control
// plane. Two clusters never share an identity.
type identities struct {
	// owner is the identity that the provider writes on instances. It is empty if no identity can be read. New
	// instances then have no owner, and the orphan collector only reports orphans.
	owner string
	// also has identities that earlier processes wrote, or may have written. This control plane also owns instances
	// with one of these.
	also []string
	// lacks says why the control plane has no identity. It is empty if the control plane has an identity.
	lacks string
}

// If the UID of kube-system cannot be read, for example with the roles of the originals, the UID of a ConfigMap is
// the identity. No client can choose this UID, and a copy in another cluster or a new ConfigMap has a different UID.
// If the ConfigMap is lost, the control plane no longer owns its instances. It never owns the instances of another
// control plane.
const (
	identityName = "millwright-identity"
	// identityOfKey has the UID of the ConfigMap for which the other data was written. In a copy, the UID differs, and the
	// other data is ignored.
	identityOfKey = "uid"
	// clusterKey has the UIDs of kube-system that could be read earlier, separated by commas.
	clusterKey = "kube-system"
)

// identity reads the identities once, before the first call of the infrastructure.
func (s *server) identity(ctx context.Context, process *run.Process) (identities, error) {
	c, err := client.New(process.Control, client.Options{Scheme: run.Scheme()})
	if err != nil {
		return identities{}, fmt.Errorf("connect to the control cluster: %w", err)
	}
	namespace := cmp.Or(s.flags.NamespaceOf(s.flags.APIs[0]), s.flags.Election.Namespace, os.Getenv("POD_NAMESPACE"))
	return identityOf(ctx, c, namespace, process.Log)
}

// identityOf prefers the UID of kube-system, and returns both identities if both can be read. An API server that does not
// answer is an error: all new instances until the next start would have no owner.
func identityOf(ctx context.Context, c client.Client, namespace string, log logr.Logger) (identities, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cluster, refused, err := clusterIdentity(ctx, c)
	if err != nil {
		return identities{}, err
	}
	own, record, refusedOwn, err := ownIdentity(ctx, c, namespace, cluster)
	if err != nil {
		return identities{}, err
	}
	out := identities{owner: cmp.Or(cluster, own)}
	for _, id := range append([]string{own}, record...) {
		if id != "" && id != out.owner && !slices.Contains(out.also, id) {
			out.also = append(out.also, id)
		}
	}
	if out.owner == "" {
		out.lacks = fmt.Sprintf("%v; %v", refused, refusedOwn)
		log.Info("the identity of this control plane is not known: instances are made without an owner, and orphans are only reported", "why", out.lacks)
		return out, nil
	}
	log.Info("instances are made for this control plane", "owner", out.owner, "also", out.also)
	return out, nil
}

// clusterIdentity returns the UID of kube-system, or why it cannot be read.
func clusterIdentity(ctx context.Context, c client.Reader) (uid string, refused, err error) {
	var ns corev1.Namespace
	err = c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &ns)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "", err, nil
	case err != nil:
		return "", nil, fmt.Errorf("read the identity of the control plane: %w", err)
	}
	return string(ns.UID), nil, nil
}

// ownIdentity returns the UID of the ConfigMap, and the recorded UIDs of kube-system. It creates the ConfigMap if
// necessary. refused says why no identity exists. ownIdentity records a known UID of kube-system, because the process
// may lose the right to read it.
func ownIdentity(ctx context.Context, c client.Client, namespace, cluster string) (uid string, record []string, refused, err error) {
	if namespace == "" {
		return "", nil, errors.New("no ConfigMap " + identityName + ": the process has no namespace of its own"), nil
	}
	var held corev1.ConfigMap
	key := client.ObjectKey{Namespace: namespace, Name: identityName}
	err = c.Get(ctx, key, &held)
	if apierrors.IsNotFound(err) {
		held = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: identityName, Labels: map[string]string{"app.kubernetes.io/part-of": "millwright"},
		}}
		if err = c.Create(ctx, &held); apierrors.IsAlreadyExists(err) {
			held = corev1.ConfigMap{}
			err = c.Get(ctx, key, &held) // another process created it first
		}
	}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "", nil, err, nil // the namespace may also not exist, or be under deletion
	case err != nil:
		return "", nil, nil, fmt.Errorf("read or create the identity in ConfigMap %s: %w", key, err)
	}
	uid = string(held.UID)
	if held.Data[identityOfKey] == uid {
		record = strings.FieldsFunc(held.Data[clusterKey], func(r rune) bool { return r == ',' })
	}
	if cluster == "" || slices.Contains(record, cluster) {
		return uid, record, nil, nil
	}
	record = append(record, cluster)
	held.Data = map[string]string{identityOfKey: uid, clusterKey: strings.Join(record, ",")}
	if err := c.Update(ctx, &held); err != nil && !apierrors.IsForbidden(err) && !apierrors.IsConflict(err) {
		return "", nil, nil, fmt.Errorf("record the identity in ConfigMap %s: %w", key, err)
	}
	return uid, record, nil, nil
}
