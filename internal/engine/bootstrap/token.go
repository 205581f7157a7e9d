package bootstrap

import (
	"crypto/sha256"
	"fmt"
	"io"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Names of the token secret.
const (
	// TokenNamespace is where the API server looks for token secrets.
	TokenNamespace = metav1.NamespaceSystem
	// UserPrefix precedes the token id in the name of the user that a token authenticates.
	UserPrefix = "system:bootstrap:"

	secretPrefix = "bootstrap-token-"
	secretType   = corev1.SecretType("bootstrap.kubernetes.io/token")

	keyDescription = "description"
	keyID          = "token-id"
	keySecret      = "token-secret"
	keyExpiration  = "expiration"
	keyAuth        = "usage-bootstrap-authentication"
	keySigning     = "usage-bootstrap-signing"
	keyGroups      = "auth-extra-groups"
)

// These annotations of a token secret name the machine for which the token was created. By them the approver
// of certificate requests binds the token to that machine.
const (
	MachineAnnotation    = millwright.BootstrapMachine
	MachineUIDAnnotation = millwright.BootstrapMachineUID
)

const (
	alphabet     = "0123456789abcdefghijklmnopqrstuvwxyz"
	idLength     = 6
	secretLength = 16
)

var validToken = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// Owner is the machine for which a token is created.
type Owner struct {
	// Key is the machine's "namespace/name", UID its object's.
	Key, UID string
}

// TokenID derives a token id from the machine's UID, so that a restart yields the same id: 6 characters of
// [0-9a-z], 2.2 billion ids. Among 1000 machines that join at once, two share an id with a probability of 1
// in 4400; the second machine then takes its next attempt.
func TokenID(machineUID string, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "bootstrap-token/%s/%d", machineUID, attempt))
	return encode(sum[:], idLength)
}

// encode turns the first n bytes into characters of the alphabet. Because 256 is not a multiple of 36, the
// first four characters are a seventh likelier. That does not matter for an id. Secrets are drawn without
// that bias.
func encode(b []byte, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(out)
}

// NewSecret draws the secret half of a token from random: 16 characters of
// [0-9a-z], 82 bits.
func NewSecret(random io.Reader) (string, error) {
	const unbiased = 252 // 7 × 36; greater bytes are discarded
	out := make([]byte, 0, secretLength)
	buf := make([]byte, secretLength)
	for len(out) < secretLength {
		if _, err := io.ReadFull(random, buf); err != nil {
			return "", fmt.Errorf("drawing a token secret: %w", err)
		}
		for _, b := range buf {
			if b < unbiased && len(out) < secretLength {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out), nil
}

// SecretKey is the name of the secret that holds the token with this id.
func SecretKey(id string) types.NamespacedName {
	return types.NamespacedName{Namespace: TokenNamespace, Name: secretPrefix + id}
}

// Token is the content of a token secret.
type Token struct {
	ID, Secret string
	Owner      Owner
	Expires    time.Time
	// Groups is the comma-separated list of further groups of the user that
	// the token authenticates; each begins with "system:bootstrappers:".
	Groups string
}

// String is the token as a kubelet presents it.
func (t Token) String() string { return t.ID + "." + t.Secret }

// Object returns the secret in the form that the API server expects.
func (t Token) Object() *corev1.Secret {
	key := SecretKey(t.ID)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Annotations: map[string]string{MachineAnnotation: t.Owner.Key, MachineUIDAnnotation: t.Owner.UID},
		},
		Type: secretType,
		Data: map[string][]byte{
			keyDescription: []byte("Bootstrap token of machine " + t.Owner.Key),
			keyID:          []byte(t.ID),
			keySecret:      []byte(t.Secret),
			keyExpiration:  []byte(t.Expires.UTC().Format(time.RFC3339)),
			keyAuth:        []byte("true"),
			keySigning:     []byte("true"),
			keyGroups:      []byte(t.Groups),
		},
	}
}

// Read is the inverse of Object. Owner is empty if another program created the secret; Expires is zero if the
// token does not expire. Read fails if the secret does not hold a well-formed token.
func Read(s *corev1.Secret) (Token, error) {
	t := Token{
		ID: string(s.Data[keyID]), Secret: string(s.Data[keySecret]), Groups: string(s.Data[keyGroups]),
		Owner: Owner{Key: s.Annotations[MachineAnnotation], UID: s.Annotations[MachineUIDAnnotation]},
	}
	if s.Type != secretType {
		return t, fmt.Errorf("secret %s/%s: type: %q, not %q", s.Namespace, s.Name, s.Type, secretType)
	}
	if !validToken.MatchString(t.String()) || SecretKey(t.ID).Name != s.Name {
		return t, fmt.Errorf("secret %s/%s: data: not a token of that name", s.Namespace, s.Name)
	}
	raw := string(s.Data[keyExpiration])
	if raw == "" {
		return t, nil
	}
	var err error
	if t.Expires, err = time.Parse(time.RFC3339, raw); err != nil {
		return t, fmt.Errorf("secret %s/%s: data.%s: %w", s.Namespace, s.Name, keyExpiration, err)
	}
	return t, nil
}
