package node

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/provider"
)

var (
	machine = provider.Ref{Namespace: "ns", Name: "m1", UID: "u1"}
	owner   = tokenOwner(machine)
)

func request() TokenRequest {
	return TokenRequest{Machine: machine, Lifetime: 20 * time.Minute, Groups: "system:bootstrappers:millwright"}
}

func (w *world) tokenSecret(t *testing.T, attempt int) (*corev1.Secret, error) {
	t.Helper()
	var s corev1.Secret
	return &s, w.Live.Get(t.Context(), bootstrap.SecretKey(bootstrap.TokenID(owner.UID, attempt)), &s)
}

// TestTokenIsTheSameUntilDropped: who asks again writes nothing. A process that dies after
// a few writes, and so did those before it, would spend them on tokens that are there, and
// none would come to say why there is no instance (world 100300451).
func TestTokenIsTheSameUntilDropped(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	first, err := w.Token(t.Context(), request())
	if err != nil || !strings.HasPrefix(first, bootstrap.TokenID("u1", 0)+".") {
		t.Fatalf("got %q, %v", first, err)
	}
	if again, err := w.Token(t.Context(), request()); again != first || err != nil {
		t.Errorf("asked again: %q, %v, want %q", again, err, first)
	}
	if got, ok, err := TokenOwner(t.Context(), w.Live, bootstrap.TokenID("u1", 0)); got != owner || !ok || err != nil {
		t.Errorf("owner %v, %v, %v", got, ok, err)
	}
	for range 2 {
		if gone, err := w.DropToken(t.Context(), machine, nil); !gone || err != nil {
			t.Fatal(gone, err)
		}
	}
	if _, err := w.tokenSecret(t, 0); !apierrors.IsNotFound(err) {
		t.Errorf("the token is still there: %v", err)
	}
	if _, ok, err := TokenOwner(t.Context(), w.Live, bootstrap.TokenID("u1", 0)); ok || err != nil {
		t.Errorf("a token that is gone: %v, %v", ok, err)
	}
	if !slices.Equal(w.writes, []string{"create", "delete"}) {
		t.Errorf("writes %v", w.writes)
	}
}

// TestTokenThatAnotherProcessMakesMeanwhile: it made it after this one had looked.
func TestTokenThatAnotherProcessMakesMeanwhile(t *testing.T) {
	theirs := bootstrap.Token{ID: bootstrap.TokenID(owner.UID, 0), Secret: "0123456789abcdef", Owner: owner, Expires: start.Add(time.Hour), Groups: request().Groups}
	w := newWorld(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if err := c.Create(ctx, theirs.Object()); err != nil {
			return err
		}
		return c.Create(ctx, o, opts...)
	}})
	if got, err := w.Token(t.Context(), request()); got != theirs.String() || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, theirs)
	}
}

func TestTokenThatIsAboutToExpireIsProlonged(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	first, err := w.Token(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	w.clock.SetTime(start.Add(time.Hour))
	if again, err := w.Token(t.Context(), request()); again != first || err != nil {
		t.Fatalf("got %q, %v, want %q", again, err, first)
	}
	s, err := w.tokenSecret(t, 0)
	if err != nil || string(s.Data["expiration"]) != "2026-03-01T13:20:00Z" {
		t.Errorf("expires %s, %v", s.Data["expiration"], err)
	}
	if kept := bootstrap.TokenID("u1", 0) + "." + string(s.Data["token-secret"]); kept != first {
		t.Errorf("the server knows %q, and the machine was given %q", kept, first)
	}
}

func TestTokenOfAnotherMachineIsLeftAlone(t *testing.T) {
	theirs := bootstrap.Token{
		ID: bootstrap.TokenID("u1", 0), Secret: "0123456789abcdef", Owner: bootstrap.Owner{Key: "ns/m2", UID: "u2"}, Expires: start.Add(time.Hour),
	}
	w := newWorld(t, interceptor.Funcs{}, theirs.Object())
	token, err := w.Token(t.Context(), request())
	if err != nil || !strings.HasPrefix(token, bootstrap.TokenID("u1", 1)+".") {
		t.Fatalf("got %q, %v", token, err)
	}
	if _, err := w.DropToken(t.Context(), machine, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.tokenSecret(t, 0); err != nil {
		t.Errorf("the other machine's token: %v", err)
	}
	if _, err := w.tokenSecret(t, 1); !apierrors.IsNotFound(err) {
		t.Errorf("our token: %v", err)
	}
}

func TestTokenIDsRunOut(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	for i := range tokenAttempts {
		theirs := bootstrap.Token{ID: bootstrap.TokenID("u1", i), Secret: "0123456789abcdef"}
		if err := w.Client.Create(t.Context(), theirs.Object()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Token(t.Context(), request()); err == nil || !strings.Contains(err.Error(), "ns/m1") {
		t.Errorf("got %v", err)
	}
}

// TestTokenServesItsOwnInstance: a node that was there before the token did not join by
// it, and the instance that is to has not joined yet.
func TestTokenServesItsOwnInstance(t *testing.T) {
	made := metav1.NewTime(start)
	since := func(after time.Duration) *corev1.Node {
		n := node("w1")
		n.CreationTimestamp = metav1.NewTime(start.Add(after))
		return n
	}
	for _, tt := range []struct {
		reason string
		joined *corev1.Node
		gone   bool
	}{
		{"the node was there before", since(-time.Second), false},
		{"it may have joined by it: times are in whole seconds", since(0), true},
		{"it came later", since(time.Minute), true},
		{"the machine is released, whatever has joined", nil, true},
	} {
		token := bootstrap.Token{ID: bootstrap.TokenID(owner.UID, 0), Secret: "0123456789abcdef", Owner: owner, Expires: start.Add(time.Hour)}.Object()
		token.CreationTimestamp = made
		w := newWorld(t, interceptor.Funcs{}, token)
		gone, err := w.DropToken(t.Context(), machine, tt.joined)
		if _, there := w.tokenSecret(t, 0); gone != tt.gone || err != nil || apierrors.IsNotFound(there) != tt.gone {
			t.Errorf("%s: gone %v, %v, and the secret: %v", tt.reason, gone, err, there)
		}
	}
}
