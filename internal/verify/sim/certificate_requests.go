package sim

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/csr"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// certificateProfile says what a kubelet needs before it can join. In most worlds this is nothing, or a bootstrap
// token.
type certificateProfile struct {
	// certified: a kubelet joins with a certificate, which it requests with its token. The process of the machine controller
	// approves the request. Other clients create requests, too.
	certified bool
	// leakedBootstrapper: an attacker has the credentials of the kubelets that have no tokens.
	leakedBootstrapper bool
}

// certificateSource is the source of random numbers of this profile alone.
const certificateSource = widerSource + 0x9a9e5

func (p *certificateProfile) draw(r *rand.Rand) {
	p.certified, p.leakedBootstrapper = r.IntN(3) == 0, r.IntN(2) == 0
}

// certificate is the state of a kubelet's certificate.
type certificate struct {
	// request is the name of the last request, again the time of the next request.
	request string
	again   time.Time
	// served: it has requested a serving certificate. revoked: users have deleted its token.
	served, revoked bool
}

const (
	// askAgain is how long a kubelet waits for its certificate before it creates another request.
	askAgain = 15 * time.Minute
	// issuedFor and pendingFor are how long approved and pending requests are kept.
	issuedFor, pendingFor = time.Hour, 24 * time.Hour
)

// approvalMachines are the machines of a process in the view of its approver.
type approvalMachines interface {
	Approvals(ctx context.Context, s approval.Subject) ([]approval.Machine, error)
	Fleet(ctx context.Context) (int, error)
	Latest(ctx context.Context, shown approval.Machine) (approval.Machine, bool, error)
	Approval(o client.Object) (approval.Machine, bool)
}

// runApprover lets p approve requests in addition. The approver knows only instances that the machine controller of the same
// process has seen.
func (p *process) runApprover(of approvalMachines) {
	if !p.w.profile.certified {
		return
	}
	a := &csr.Approver{
		Client: p.target, Live: p.targetLive, Clock: p, Policy: approval.DefaultPolicy(),
		Machines: of.Approvals, Fleet: of.Fleet, Latest: of.Latest, Events: recorder{p},
	}
	if m := p.w.o.Mutation; m != nil && m.Approver != nil {
		m.Approver(a)
	}
	machines, others := p.reconcile, p.wakes
	p.reconcile = func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if req.Namespace == "" {
			return a.Reconcile(ctx, req)
		}
		return machines(ctx, req)
	}
	p.wakes = func(e store.Event) (out []enqueue.Request) {
		for _, o := range []client.Object{e.Old, e.New} {
			if o == nil || e.Kind.Kind != "Machine" {
				continue
			}
			for _, r := range a.Concerned(of.Approval(o)) {
				out = append(out, enqueue.Request{Request: r})
			}
		}
		slices.SortFunc(out, func(a, b enqueue.Request) int { return strings.Compare(a.Request.Name, b.Request.Name) })
		if _, is := e.Object().(*certificatesv1.CertificateSigningRequest); is && wakesApprover(e) {
			out = append(out, enqueue.Request{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object())}})
		}
		return append(out, others(e)...)
	}
}

// wakesApprover reports whether a change of a request wakes the approver.
func wakesApprover(e store.Event) bool {
	which := csr.Relevant()
	switch {
	case e.Old == nil:
		return which.Create(event.CreateEvent{Object: e.New})
	case e.New == nil:
		return which.Delete(event.DeleteEvent{Object: e.Old})
	}
	return which.Update(event.UpdateEvent{ObjectOld: e.Old, ObjectNew: e.New})
}

// joinActions are the actions of a kubelet that has yet to join.
func (w *World) joinActions(k *kubelet) []func() {
	if !w.profile.certified || k.made != "" {
		return []func(){func() { w.join(k) }}
	}
	r, _ := w.target.Lookup(&certificatesv1.CertificateSigningRequest{}, client.ObjectKey{Name: k.certificate.request}).(*certificatesv1.CertificateSigningRequest)
	switch {
	case approved(r):
		return []func(){func() { w.join(k) }}
	case r == nil || !w.now.Before(k.certificate.again):
		return []func(){func() { w.requestCertificate(k) }}
	}
	return nil
}

func approved(r *certificatesv1.CertificateSigningRequest) bool {
	return r != nil && slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved
	})
}

// requestCertificate requests a client certificate for a kubelet if the kubelet's token is valid.
func (w *World) requestCertificate(k *kubelet) {
	if !w.tokenValid(k) {
		k.never = true
		return
	}
	k.certificate.request = w.createRequest(k.on, w.identity(k.on), certificatesv1.KubeAPIServerClientKubeletSignerName, k.on.Host)
	k.certificate.again = w.now.Add(askAgain)
}

// bootstrapper is the user of kubelets that have no tokens.
var bootstrapper = user{"system:serviceaccount:openshift-machine-config-operator:node-bootstrapper", []string{
	"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts", "system:authenticated",
}}

type user struct {
	name   string
	groups []string
}

// identity is the user of an instance that has not joined.
func (w *World) identity(i *cloud.Machine) user {
	token, ok := strings.CutPrefix(string(i.UserData), "token=")
	if !ok {
		return bootstrapper
	}
	id, _, _ := strings.Cut(token, ".")
	return user{bootstrap.UserPrefix + id, []string{approval.GroupBootstrappers, "system:authenticated"}}
}

// createRequest creates a request and returns its name. Instance i, as the given user, requests the certificate of a node
// name, or a serving certificate with more names and addresses.
func (w *World) createRequest(i *cloud.Machine, as user, signer, nodeName string, also ...string) string {
	usage := certificatesv1.UsageClientAuth
	if signer == certificatesv1.KubeletServingSignerName {
		usage = certificatesv1.UsageServerAuth
	}
	r := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-", Annotations: map[string]string{judge.Sender: i.ID}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pemOf(nodeName, also), SignerName: signer, Username: as.name, Groups: as.groups,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage},
		},
	}
	made, err := w.target.Create(r)
	w.must("ask for a certificate", err)
	w.tracef("kubelet", "%s asks as %s for a certificate of %s %v: %s", i.Name, as.name, nodeName, also, made.GetName())
	return made.GetName()
}

func pemOf(nodeName string, also []string) []byte {
	seed := sha256.Sum256([]byte(nodeName))
	c := &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + nodeName, Organization: []string{"system:nodes"}}}
	for _, name := range also {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	raw, err := x509.CreateCertificateRequest(zeros{}, c, ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		panic(fmt.Sprintf("make a certificate request: %v", err))
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw})
}

// foreignRequestActions are the actions of clients that request certificates of other nodes.
func (w *World) foreignRequestActions() []func() {
	if !w.profile.certified {
		return nil
	}
	out := []func(){w.requestForeignCertificate, w.requestForeignCertificate, w.requestServingCertificate, w.requestServingCertificate, w.revokeToken}
	if w.profile.leakedBootstrapper {
		out = append(out, w.requestWithLeakedCredentials, w.requestWithLeakedCredentials)
	}
	return out
}

// maxRequests bounds the requests that such clients create.
const maxRequests = 20

// requestForeignCertificate lets a client request the certificate of another instance's node: with its own token if that
// token is valid, otherwise without a token.
func (w *World) requestForeignCertificate() {
	i, ok := pick(w, w.cloud.Existing(""))
	if !ok || len(w.target.All(&certificatesv1.CertificateSigningRequest{})) >= maxRequests {
		return
	}
	as := user{"system:serviceaccount:apps:somebody", []string{"system:serviceaccounts", "system:authenticated"}}
	if by := w.identity(i); w.chance(75) && by.name != bootstrapper.name {
		if !w.tokenAccepted(i) {
			return
		}
		as = by
	}
	v, _ := pick(w, w.cloud.Existing(""))
	w.createRequest(i, as, certificatesv1.KubeAPIServerClientKubeletSignerName, v.Host)
}

// requestWithLeakedCredentials lets an attacker request the certificate of any node with the bootstrapper's
// credentials.
func (w *World) requestWithLeakedCredentials() {
	i, ok := pick(w, w.cloud.Existing(""))
	if !ok || len(w.target.All(&certificatesv1.CertificateSigningRequest{})) >= 2*maxRequests {
		return
	}
	v, _ := pick(w, w.cloud.Existing(""))
	w.createRequest(i, bootstrapper, certificatesv1.KubeAPIServerClientKubeletSignerName, v.Host)
}

// tokenAccepted reports whether the API server accepts the token of i.
func (w *World) tokenAccepted(i *cloud.Machine) bool {
	id, _ := strings.CutPrefix(w.identity(i).name, bootstrap.UserPrefix)
	s, _ := w.target.Lookup(&corev1.Secret{}, bootstrap.SecretKey(id)).(*corev1.Secret)
	if s == nil {
		return false
	}
	t, err := bootstrap.Read(s)
	return err == nil && w.now.Before(t.Expires)
}

// requestServingCertificate lets a node request its serving certificate. Some nodes add a name or an address of another
// instance.
func (w *World) requestServingCertificate() {
	i, ok := pick(w, w.cloud.Existing(""))
	if !ok || w.nodeOf(w.kubelet(i)) == nil || w.kubelet(i).certificate.served {
		return
	}
	w.kubelet(i).certificate.served = true
	also := []string{i.Host, i.IP}
	if v, _ := pick(w, w.cloud.Existing("")); w.chance(40) {
		also = append(also, []string{v.Host, v.IP}[w.roll(2)])
	}
	as := user{"system:node:" + i.Host, []string{"system:nodes", "system:authenticated"}}
	w.createRequest(i, as, certificatesv1.KubeletServingSignerName, i.Host, also...)
}

// revokeToken lets users delete the token of an instance, which then cannot join.
func (w *World) revokeToken() {
	i, ok := pick(w, w.cloud.Existing(""))
	if !ok || !w.chance(15) || !w.tokenAccepted(i) {
		return
	}
	id, _ := strings.CutPrefix(w.identity(i).name, bootstrap.UserPrefix)
	w.must("delete a token", w.target.Delete(w.target.Lookup(&corev1.Secret{}, bootstrap.SecretKey(id)), client.DeleteOptions{}))
	w.kubelet(i).certificate.revoked = true
	w.does("deletes the token of %s", i.Name)
}

// deleteUnapprovedRequests lets users delete the requests that no controller approves.
func (w *World) deleteUnapprovedRequests() {
	own := map[string]bool{}
	for _, k := range w.kubelets {
		own[k.certificate.request] = true
	}
	for _, o := range w.target.All(&certificatesv1.CertificateSigningRequest{}) {
		if r := o.(*certificatesv1.CertificateSigningRequest); !own[r.Name] && !approved(r) {
			w.must("delete a certificate request", w.target.Delete(r, client.DeleteOptions{}))
		}
	}
}

// expiredRequests delete requests that are too old.
func (w *World) expiredRequests() (out []func()) {
	for _, o := range w.target.All(&certificatesv1.CertificateSigningRequest{}) {
		age := w.now.Sub(o.GetCreationTimestamp().Time)
		if done := approved(o.(*certificatesv1.CertificateSigningRequest)); done && age > issuedFor || age > pendingFor {
			out = append(out, func() { w.must("delete a certificate request", w.target.Delete(o, client.DeleteOptions{})) })
		}
	}
	return out
}
