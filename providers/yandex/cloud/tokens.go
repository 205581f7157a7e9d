package cloud

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/iam/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// tokens are the IAM tokens of a service account. Each is valid for up to twelve hours, and is replaced
// after an hour, as Yandex Cloud recommends.
type tokens struct {
	services *services
	clock    provider.Clock
	key      accountKey
	issued   *kit.Memo[string]
}

func newTokens(s *services, clock provider.Clock, key accountKey) *tokens {
	return &tokens{services: s, clock: clock, key: key, issued: kit.NewMemo[string](clock, time.Hour)}
}

func (t *tokens) get(ctx context.Context) (string, error) { return t.issued.Get(ctx, "", t.create) }

func (t *tokens) forget() { t.issued.ForgetAll() }

// create exchanges a JWT that the key has signed for a token.
func (t *tokens) create(ctx context.Context) (string, error) {
	signed, err := t.sign()
	if err != nil {
		return "", provider.Errorf(provider.Denied, "sign with the key of the service account: %w", err)
	}
	conn, err := t.services.to(ctx, iamService)
	if err != nil {
		return "", err
	}
	out, err := iam.NewIamTokenServiceClient(conn).Create(ctx, &iam.CreateIamTokenRequest{Identity: &iam.CreateIamTokenRequest_Jwt{Jwt: signed}})
	if err != nil {
		return "", refusedKey(err)
	}
	if out.GetIamToken() == "" {
		return "", provider.Errorf(provider.Transient, "the answer of IAM has no token")
	}
	return out.GetIamToken(), nil
}

// audience is the recipient of the signed JWT, also if the service has another address.
const audience = "https://iam.api.cloud.yandex.net/iam/v1/tokens"

// lifetime is the lifetime of a JWT, at most an hour.
const lifetime = time.Hour

// sign returns a signed JWT, with the algorithm PS256 as IAM requires.
func (t *tokens) sign() (string, error) {
	now := t.clock.Now()
	head, err := json.Marshal(map[string]string{"typ": "JWT", "alg": "PS256", "kid": t.key.id})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{"iss": t.key.account, "aud": audience, "iat": now.Unix(), "exp": now.Add(lifetime).Unix()})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode(head) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPSS(rand.Reader, t.key.private, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256})
	if err != nil {
		return "", err
	}
	return text + "." + encode(signature), nil
}
