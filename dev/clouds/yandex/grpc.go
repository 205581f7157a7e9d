package yandex

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// prefix is the number of bytes before a message: whether it is compressed, and its length.
const prefix = 5

var errFrame = errors.New("the body is no single uncompressed message of gRPC")

// message is the message in the body of a unary call.
func message(body []byte) ([]byte, error) {
	if len(body) < prefix || body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:prefix])) != int64(len(body)-prefix) {
		return nil, errFrame
	}
	return body[prefix:], nil
}

// writeMessage writes the answer to a unary call.
func writeMessage(w http.ResponseWriter, m proto.Message) {
	raw, err := proto.Marshal(m)
	if err != nil {
		writeStatus(w, status.New(codes.Internal, err.Error()))
		return
	}
	w.Header().Set("Content-Type", "application/grpc")
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))) //nolint:gosec // Messages are small.
	_, _ = w.Write(append(body, raw...))
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
}

// writeStatus writes an error as the answer. Errors have the status 200 of HTTP.
func writeStatus(w http.ResponseWriter, st *status.Status) {
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(int(st.Code())))
	h.Set("Grpc-Message", escaped(st.Message()))
	if raw, err := proto.Marshal(st.Proto()); err == nil && len(st.Proto().GetDetails()) > 0 {
		h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(raw))
	}
	w.WriteHeader(http.StatusOK)
}

// escaped is a message in a header.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
