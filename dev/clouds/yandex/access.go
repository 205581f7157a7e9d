package yandex

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/iam/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// grant is an issued token.
type grant struct {
	account, key string
	until        time.Time
}

// lifetime is the lifetime of a token.
const lifetime = 12 * time.Hour

// roles are the operations that roles allow, and rights within operations. compute.editor includes
// compute.operator, and that compute.viewer.
var roles = func() map[string][]string {
	viewer := []string{"Instance.Get", "Instance.List", "Instance.GetSerialPortOutput", "Operation.Get"}
	operator := append(slices.Clone(viewer), "Instance.Start", "Instance.Stop", "Instance.Restart")
	return map[string][]string{
		"compute.viewer": viewer, "compute.operator": operator,
		"compute.editor":  append(slices.Clone(operator), "Instance.Create", "Instance.Update", "Instance.Delete"),
		"vpc.viewer":      {"Address.List", "Operation.Get"},
		"vpc.user":        {"Address.List", "Operation.Get", useOfNetworks},
		"vpc.publicAdmin": {"Address.List", "Operation.Get", publicAddresses},
	}
}()

// Rights within the creation of an instance.
const (
	useOfNetworks   = "use of networks"
	publicAddresses = "public addresses"
)

// RolesAllow reports whether roles allow an operation.
func RolesAllow(all []string, operation string) bool {
	return slices.ContainsFunc(all, func(role string) bool { return slices.Contains(roles[role], operation) })
}

func (a ServiceAccount) has(right string) bool {
	return len(a.Roles) == 0 || RolesAllow(a.Roles, right)
}

func (a ServiceAccount) permitted(operation string) error {
	if a.has(operation) {
		return nil
	}
	return denied()
}

// inFolder refuses callers without roles in the folder.
func (s *store) inFolder(in call, folder string) error {
	known := slices.Contains(s.options.Inventory.Folders, folder) || folder == otherFolder || s.options.AcceptAny
	if in.caller.Folder == folder && known || in.caller.Folder == "" {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "Permission denied to resource-manager.folder %s", folder)
}

// authenticate identifies the caller.
func (c *Cloud) authenticate(r *http.Request) (ServiceAccount, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.tokens[token]
	if !ok || !c.clock.Now().Before(g.until) {
		return ServiceAccount{}, status.Error(codes.Unauthenticated, "The token is invalid")
	}
	for _, a := range c.options.Inventory.ServiceAccounts {
		if a.ID == g.account && slices.ContainsFunc(a.Keys, func(k Key) bool { return k.ID == g.key }) {
			return a, nil
		}
	}
	if c.stranger() {
		return ServiceAccount{ID: g.account}, nil
	}
	return ServiceAccount{}, status.Error(codes.Unauthenticated, "The token is invalid")
}

// stranger reports whether accounts that are not in the inventory are accepted, with any key and folder. The
// caller holds the lock.
func (s *store) stranger() bool { return s.options.AcceptAny && !s.revoked.strangers }

// claims are the checked claims of a JWT.
type claims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// audience is the recipient of JWTs.
const audience = "https://iam.api.cloud.yandex.net/iam/v1/tokens"

func refusedJWT(why string) error { return status.Error(codes.Unauthenticated, "JWT: "+why) }

// Create implements the service of tokens, for JWTs that the key of a service account has signed.
func (s tokenService) Create(_ context.Context, in *iam.CreateIamTokenRequest) (*iam.CreateIamTokenResponse, error) {
	parts := strings.Split(in.GetJwt(), ".")
	var head struct{ Alg, Kid string }
	var is claims
	if len(parts) != 3 || decodePart(parts[0], &head) != nil || decodePart(parts[1], &is) != nil || head.Alg != "PS256" {
		return nil, status.Error(codes.InvalidArgument, "JWT: it is malformed, or its algorithm is not PS256")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "JWT: the signature is malformed")
	}
	now, sum := s.clock.Now(), sha256.Sum256([]byte(parts[0]+"."+parts[1]))
	switch {
	case is.Audience != audience:
		return nil, refusedJWT("the audience is wrong")
	case is.Issued > now.Add(time.Minute).Unix() || is.Expires <= now.Unix() || is.Expires > is.Issued+3600:
		return nil, refusedJWT("it is not valid at this time, or is valid for more than an hour")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.signed(is.Issuer, head.Kid, sum[:], signature) && !s.stranger() {
		return nil, refusedJWT("the key of the signature is unknown")
	}
	token, until := "t1."+rand.Text(), now.Add(lifetime)
	s.tokens[token] = grant{account: is.Issuer, key: head.Kid, until: until}
	return &iam.CreateIamTokenResponse{IamToken: token, ExpiresAt: timestamppb.New(until)}, nil
}

// signed reports whether a key of an account has made a signature. The caller holds the lock.
func (s tokenService) signed(account, key string, sum, signature []byte) bool {
	for _, a := range s.options.Inventory.ServiceAccounts {
		for _, k := range a.Keys {
			if a.ID == account && k.ID == key && verifies(k.Public, sum, signature) {
				return true
			}
		}
	}
	return false
}

func decodePart(part string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func verifies(public string, sum, signature []byte) bool {
	block, _ := pem.Decode([]byte(public))
	if block == nil {
		return false
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(*rsa.PublicKey)
	return err == nil && ok && rsa.VerifyPSS(key, crypto.SHA256, sum, signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}) == nil
}

// keyNotice is the line that Yandex Cloud's command line writes before a private key.
const keyNotice = "PLEASE DO NOT REMOVE THIS LINE! Yandex.Cloud SA Key ID <"

// IssueKey creates a key of a service account, and returns the JSON that Yandex Cloud issues for it.
func (c *Cloud) IssueKey(account string) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.newID("aje")
	shown := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	for n, a := range c.options.Inventory.ServiceAccounts {
		if a.ID == account {
			c.options.Inventory.ServiceAccounts[n].Keys = append(slices.Clone(a.Keys), Key{ID: id, Public: shown})
			return json.Marshal(map[string]string{
				"id": id, "service_account_id": account, "created_at": c.clock.Now().UTC().Format(time.RFC3339), "key_algorithm": "RSA_2048", "public_key": shown,
				"private_key": keyNotice + id + ">\n" + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
			})
		}
	}
	return nil, status.Errorf(codes.NotFound, "there is no service account %s", account)
}
