# SPDX-License-Identifier: BSD-2-Clause
# Text files that become strings of the program: text_file(OUT.c NAME FILE).
function(text_file out name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${file} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(CONFIGURE OUTPUT ${out} CONTENT
    "/* made from ${file} */\nextern const char ${name}[];\nconst char ${name}[] = {\n${bytes}0};\n")
endfunction()
