package yandex

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/iam/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millwright-dev/millwright/dev/clouds/jwt"
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
	_, known := c.Credentials.Find(func(k accountKey) bool { return k.account == g.account && k.ID == g.key })
	if !ok || !c.clock.Now().Before(g.until) || !known && !c.AcceptsUnknown() {
		return ServiceAccount{}, status.Error(codes.Unauthenticated, "The token is invalid")
	}
	if n := c.options.Inventory.account(g.account); n >= 0 && known {
		return c.options.Inventory.ServiceAccounts[n], nil
	}
	return ServiceAccount{ID: g.account}, nil
}

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
	var is claims
	t, err := jwt.Parse(in.GetJwt(), &is)
	if err != nil || t.Algorithm != "PS256" {
		return nil, status.Error(codes.InvalidArgument, "JWT: it is malformed, or its algorithm is not PS256")
	}
	now := s.clock.Now()
	switch {
	case is.Audience != audience:
		return nil, refusedJWT("the audience is wrong")
	case is.Issued > now.Add(time.Minute).Unix() || is.Expires <= now.Unix() || is.Expires > is.Issued+3600:
		return nil, refusedJWT("it is not valid at this time, or is valid for more than an hour")
	}
	_, known := s.Credentials.Find(func(k accountKey) bool { return k.account == is.Issuer && k.ID == t.KeyID && t.SignedBy(k.Public) })
	if !known && !s.AcceptsUnknown() {
		return nil, refusedJWT("the key of the signature is unknown")
	}
	token, until := "t1."+rand.Text(), now.Add(lifetime)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token] = grant{account: is.Issuer, key: t.KeyID, until: until}
	return &iam.CreateIamTokenResponse{IamToken: token, ExpiresAt: timestamppb.New(until)}, nil
}

// keyNotice is the line that Yandex Cloud's command line writes before a private key.
const keyNotice = "PLEASE DO NOT REMOVE THIS LINE! Yandex.Cloud SA Key ID <"

// IssueKey creates a key of a service account, and returns the JSON that Yandex Cloud issues for it.
func (c *Cloud) IssueKey(account string) ([]byte, error) {
	private, public, err := jwt.NewKey()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.options.Inventory.account(account)
	if n < 0 {
		return nil, status.Errorf(codes.NotFound, "there is no service account %s", account)
	}
	id := newID("aje")
	c.Credentials.Add(accountKey{account, c.options.Inventory.ServiceAccounts[n].Folder, Key{ID: id, Public: public}})
	return json.Marshal(map[string]string{
		"id": id, "service_account_id": account, "created_at": c.clock.Now().UTC().Format(time.RFC3339), "key_algorithm": "RSA_2048", "public_key": public,
		"private_key": keyNotice + id + ">\n" + private,
	})
}
